import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkFiles;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

/** Spark applications of the tests: the first argument says which. Prints "RESULT ...". */
public class Job {
  private static List<Integer> numbers(int count) {
    List<Integer> numbers = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      numbers.add(i);
    }
    return numbers;
  }

  private static void touch(Path path) throws IOException {
    if (!Files.exists(path)) {
      Files.write(path, new byte[0]);
    }
  }

  /** Waits for a file, two minutes at most. */
  private static void await(Path path) throws Exception {
    for (long end = System.nanoTime() + 120_000_000_000L; !Files.exists(path);) {
      if (System.nanoTime() > end) {
        throw new IllegalStateException("no " + path);
      }
      Thread.sleep(20);
    }
  }

  private static Object pi(JavaSparkContext context, String[] arguments) {
    int slices = Integer.parseInt(arguments[1]);
    long inside = context.parallelize(numbers(slices), slices).map(seed -> {
      java.util.Random random = new java.util.Random(seed);
      int hits = 0;
      for (int i = 0; i < 100_000; i++) {
        double x = random.nextDouble() * 2 - 1;
        double y = random.nextDouble() * 2 - 1;
        hits += x * x + y * y <= 1 ? 1 : 0;
      }
      return (long) hits;
    }).reduce(Long::sum);
    return Math.round(400.0 * inside / (slices * 100_000L));
  }

  private static JavaRDD<String> lines(JavaSparkContext context, String file, int slices) {
    return context.textFile(file, slices);
  }

  private static Object words(JavaSparkContext context, String[] arguments) {
    Map<String, Integer> counts = lines(context, arguments[1], 6)
        .flatMap(line -> Arrays.asList(line.trim().split("\\s+")).iterator())
        .filter(word -> !word.isEmpty()).mapToPair(word -> new Tuple2<>(word, 1))
        .reduceByKey(Integer::sum).collectAsMap();
    int sum = 0;
    for (int count : counts.values()) {
      sum += count;
    }
    return sum + " " + counts.size() + " " + counts.get("the");
  }

  /** Tasks that say that they run, and wait for the file `go`; then a shuffle. */
  private static Object gated(JavaSparkContext context, String[] arguments) {
    String directory = arguments[1];
    int slices = Integer.parseInt(arguments[2]);
    Map<Integer, Integer> sums = context.parallelize(numbers(slices), slices).mapToPair(i -> {
      touch(Paths.get(directory, "started-" + i));
      await(Paths.get(directory, "go"));
      return new Tuple2<>(i % 3, i * i);
    }).reduceByKey(Integer::sum).collectAsMap();
    return sums.get(0) + " " + sums.get(1) + " " + sums.get(2);
  }

  private static int executors(JavaSparkContext context) {
    return context.sc().statusTracker().getExecutorInfos().length - 1;
  }

  private static void awaitExecutors(JavaSparkContext context, int least, int most)
      throws Exception {
    for (long end = System.nanoTime() + 90_000_000_000L;
        executors(context) < least || executors(context) > most;) {
      if (System.nanoTime() > end) {
        throw new IllegalStateException(executors(context) + " executors");
      }
      Thread.sleep(50);
    }
  }

  /** Many executors while there is much to do, few when there is not, and shuffled data stays. */
  private static Object breathing(JavaSparkContext context, String[] arguments) throws Exception {
    Thread opener = new Thread(() -> {
      try {
        awaitExecutors(context, 2, 99);
        touch(Paths.get(arguments[1], "go"));
      } catch (Exception e) {
        throw new RuntimeException(e);
      }
    });
    opener.start();
    Object first = gated(context, arguments);
    opener.join();
    awaitExecutors(context, 0, 1);
    return first + " " + words(context, new String[] {"words", arguments[3]});
  }

  /** A count of words that also says when its first task ran, in milliseconds of the epoch. */
  private static Object timed(JavaSparkContext context, String[] arguments) {
    long first = context.parallelize(numbers(6), 6).map(i -> System.currentTimeMillis())
        .reduce(Math::min);
    return first + " " + words(context, arguments);
  }

  /** What was shipped by the fetcher, as an executor sees it. */
  private static Object shipped(JavaSparkContext context, String[] arguments) {
    return context.parallelize(numbers(1), 1).map(i -> new String(Files.readAllBytes(
        Paths.get(arguments[1])))).first().trim();
  }

  private static Object run(JavaSparkContext context, String[] arguments) throws Exception {
    switch (arguments[0]) {
      case "pi": return pi(context, arguments);
      case "words": return words(context, arguments);
      case "timed": return timed(context, arguments);
      case "gated": return gated(context, arguments);
      case "breathing": return breathing(context, arguments);
      case "shipped": return shipped(context, arguments);
      case "die": {
        // Dies once; who supervises it starts it again.
        Path died = Paths.get(arguments[1], "died");
        if (!Files.exists(died)) {
          touch(died);
          Runtime.getRuntime().halt(1);
        }
        return pi(context, new String[] {"pi", "2"});
      }
      default: throw new IllegalArgumentException(arguments[0]);
    }
  }

  public static void main(String[] arguments) throws Exception {
    JavaSparkContext context = new JavaSparkContext(new SparkConf());
    try {
      Object result = run(context, arguments);
      System.out.println("RESULT " + result);
      if (System.getenv("RESULT_FILE") != null) {
        Files.write(Paths.get(System.getenv("RESULT_FILE")), result.toString().getBytes());
      }
    } finally {
      context.stop();
    }
  }
}
