import com.google.protobuf.ByteString;
import java.io.FileWriter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.apache.mesos.Executor;
import org.apache.mesos.ExecutorDriver;
import org.apache.mesos.MesosExecutorDriver;
import org.apache.mesos.Protos.*;

/**
 * An executor whose tasks do what their data says: "finish", "run", "throw". It writes what it
 * hears to the file `callbacks` of its sandbox and echoes messages; "stop" and "status X" as
 * messages are commands.
 */
public class DrivenExecutor implements Executor {
  static synchronized void note(String... words) {
    try (FileWriter out = new FileWriter("callbacks", true)) {
      out.write(String.join("\t", words) + "\n");
    } catch (IOException e) {
      throw new RuntimeException(e);
    }
  }

  private static void send(ExecutorDriver driver, TaskID id, TaskState state) {
    driver.sendStatusUpdate(TaskStatus.newBuilder().setTaskId(id).setState(state)
        .setData(ByteString.copyFromUtf8("of " + id.getValue())).build());
  }

  public void registered(ExecutorDriver driver, ExecutorInfo executor, FrameworkInfo framework,
      SlaveInfo agent) {
    note("registered", executor.getExecutorId().getValue(), framework.getName(),
        agent.getHostname(), executor.getData().toStringUtf8());
  }

  public void reregistered(ExecutorDriver driver, SlaveInfo agent) {
    note("reregistered", agent.getHostname());
  }

  public void disconnected(ExecutorDriver driver) {
    note("disconnected");
  }

  public void launchTask(ExecutorDriver driver, TaskInfo task) {
    String data = task.getData().toStringUtf8();
    note("launchTask", task.getTaskId().getValue(), data);
    if (data.equals("throw")) {
      throw new RuntimeException("thrown by launchTask");
    }
    send(driver, task.getTaskId(), TaskState.TASK_RUNNING);
    if (data.equals("finish")) {
      send(driver, task.getTaskId(), TaskState.TASK_FINISHED);
    }
  }

  public void killTask(ExecutorDriver driver, TaskID id) {
    note("killTask", id.getValue());
    send(driver, id, TaskState.TASK_KILLED);
  }

  public void frameworkMessage(ExecutorDriver driver, byte[] data) {
    String text = new String(data, StandardCharsets.UTF_8);
    note("frameworkMessage", text);
    driver.sendFrameworkMessage(("echo " + text).getBytes(StandardCharsets.UTF_8));
    if (text.startsWith("finish ")) {
      send(driver, TaskID.newBuilder().setValue(text.substring(7)).build(),
          TaskState.TASK_FINISHED);
    } else if (text.startsWith("staging ")) {
      send(driver, TaskID.newBuilder().setValue(text.substring(8)).build(),
          TaskState.TASK_STAGING);
    } else if (text.equals("stop")) {
      note("stopped", driver.stop().toString());
    }
  }

  public void shutdown(ExecutorDriver driver) {
    note("shutdown");
    if (System.getenv("STUBBORN") == null) {
      driver.stop();
    }
  }

  public void error(ExecutorDriver driver, String message) {
    note("error", message);
  }

  public static void main(String[] arguments) {
    MesosExecutorDriver driver = new MesosExecutorDriver(new DrivenExecutor());
    Status status = driver.run();
    note("ended", status.toString());
    System.exit(status == Status.DRIVER_STOPPED ? 0 : 1);
  }
}
