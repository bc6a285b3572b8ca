import java.io.File;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Runs a program by a class loader of its own: Loader CLASSPATH MAIN ARGUMENTS... */
public class Loader {
  public static void main(String[] arguments) throws Exception {
    List<URL> urls = new ArrayList<>();
    for (String part : arguments[0].split(":")) {
      if (part.endsWith("/*")) {
        for (File file : new File(part.substring(0, part.length() - 2)).listFiles()) {
          urls.add(file.toURI().toURL());
        }
      } else {
        urls.add(new File(part).toURI().toURL());
      }
    }
    ClassLoader loader = new URLClassLoader(urls.toArray(new URL[0]),
        ClassLoader.getPlatformClassLoader());
    loader.loadClass(arguments[1]).getMethod("main", String[].class).invoke(null,
        (Object) Arrays.copyOfRange(arguments, 2, arguments.length));
  }
}
