import java.io.BufferedReader;
import java.io.FileReader;
import java.util.ArrayList;
import java.util.List;
import org.apache.mesos.MesosSchedulerDriver;
import org.apache.mesos.Protos.*;
import org.apache.mesos.Scheduler;
import org.apache.mesos.SchedulerDriver;

/**
 * Has itself told so many status updates, by reconciling one task many times a call, and says how
 * much memory the process has after a tenth of them and after all.
 */
public class Flood implements Scheduler {
  private static final int PER_CALL = 1000;
  private final long wanted;
  private long told;
  private int waiting;
  private List<TaskStatus> statuses;

  Flood(long wanted) {
    this.wanted = wanted;
  }

  static long kilobytes() {
    System.gc();
    try (BufferedReader in = new BufferedReader(new FileReader("/proc/self/status"))) {
      for (String line; (line = in.readLine()) != null;) {
        if (line.startsWith("VmRSS:")) {
          return Long.parseLong(line.replaceAll("[^0-9]", ""));
        }
      }
    } catch (java.io.IOException e) {
      throw new RuntimeException(e);
    }
    return 0;
  }

  public void registered(SchedulerDriver driver, FrameworkID id, MasterInfo master) {}

  public void resourceOffers(SchedulerDriver driver, List<Offer> offers) {
    if (statuses != null) {
      return;
    }
    Offer offer = offers.get(0);
    TaskInfo task = TaskInfo.newBuilder().setName("t").setSlaveId(offer.getSlaveId())
        .setTaskId(TaskID.newBuilder().setValue("t"))
        .setCommand(CommandInfo.newBuilder().setValue("sleep 1000"))
        .addResources(Resource.newBuilder().setName("cpus").setType(Value.Type.SCALAR)
            .setScalar(Value.Scalar.newBuilder().setValue(0.1)))
        .addResources(Resource.newBuilder().setName("mem").setType(Value.Type.SCALAR)
            .setScalar(Value.Scalar.newBuilder().setValue(32))).build();
    List<OfferID> ids = new ArrayList<>();
    ids.add(offer.getId());
    List<TaskInfo> tasks = new ArrayList<>();
    tasks.add(task);
    statuses = new ArrayList<>();
    for (int i = 0; i < PER_CALL; i++) {
      statuses.add(TaskStatus.newBuilder().setTaskId(task.getTaskId())
          .setSlaveId(offer.getSlaveId()).setState(TaskState.TASK_RUNNING).build());
    }
    driver.launchTasks(ids, tasks);
  }

  public void statusUpdate(SchedulerDriver driver, TaskStatus status) {
    if (status.getState() != TaskState.TASK_RUNNING) {
      return;
    }
    told++;
    if (told == wanted / 10 || told == wanted) {
      System.out.println("kilobytes\t" + kilobytes());
    }
    if (told == wanted) {
      driver.stop();
    } else if (--waiting <= 0) {
      waiting = PER_CALL;
      driver.reconcileTasks(statuses);
    }
  }

  public void reregistered(SchedulerDriver driver, MasterInfo master) {}

  public void disconnected(SchedulerDriver driver) {}

  public void offerRescinded(SchedulerDriver driver, OfferID id) {}

  public void frameworkMessage(SchedulerDriver d, ExecutorID e, SlaveID s, byte[] data) {}

  public void slaveLost(SchedulerDriver driver, SlaveID id) {}

  public void executorLost(SchedulerDriver driver, ExecutorID e, SlaveID s, int status) {}

  public void error(SchedulerDriver driver, String message) {
    System.out.println("error\t" + message);
  }

  public static void main(String[] arguments) {
    FrameworkInfo info = FrameworkInfo.newBuilder().setUser("").setName("flood").build();
    MesosSchedulerDriver driver = new MesosSchedulerDriver(
        new Flood(Long.parseLong(arguments[1])), info, arguments[0]);
    System.exit(driver.run() == Status.DRIVER_STOPPED ? 0 : 1);
  }
}
