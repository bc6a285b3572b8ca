import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.mesos.MesosSchedulerDriver;
import org.apache.mesos.Protos.*;
import org.apache.mesos.Scheduler;
import org.apache.mesos.SchedulerDriver;

/** Launches so many tasks as fast as offers come, and says how many a second: bench/driver.c. */
public class Launch implements Scheduler {
  private static final double TASK_CPUS = 0.1;
  private static final Filters NONE = Filters.newBuilder().setRefuseSeconds(0).build();
  private final int wanted;
  private int launched;
  private int ended;
  private long begin;
  private long end;

  Launch(int wanted) {
    this.wanted = wanted;
  }

  private static Resource scalar(String name, double value) {
    return Resource.newBuilder().setName(name).setType(Value.Type.SCALAR)
        .setScalar(Value.Scalar.newBuilder().setValue(value)).build();
  }

  private static final Resource CPUS = scalar("cpus", TASK_CPUS);
  private static final Resource MEM = scalar("mem", 32);
  private static final CommandInfo COMMAND = CommandInfo.newBuilder().setValue("true").build();

  /** How many tasks fit by their processors; memory is plenty. */
  private static int room(Offer offer) {
    double cpus = 0;
    for (Resource resource : offer.getResourcesList()) {
      cpus += resource.getName().equals("cpus") ? resource.getScalar().getValue() : 0;
    }
    return (int) (cpus / TASK_CPUS + 1e-6);
  }

  public void resourceOffers(SchedulerDriver driver, List<Offer> offers) {
    if (begin == 0) {
      begin = System.nanoTime();
    }
    for (Offer offer : offers) {
      List<TaskInfo> tasks = new ArrayList<>();
      for (int room = room(offer); room > 0 && launched < wanted; room--) {
        String name = "t" + launched++;
        tasks.add(TaskInfo.newBuilder().setName(name).setSlaveId(offer.getSlaveId())
            .setTaskId(TaskID.newBuilder().setValue(name)).setCommand(COMMAND)
            .addResources(CPUS).addResources(MEM).build());
      }
      driver.launchTasks(Collections.singletonList(offer.getId()), tasks, NONE);
    }
  }

  public void statusUpdate(SchedulerDriver driver, TaskStatus status) {
    if (status.getState() == TaskState.TASK_FINISHED && ++ended == wanted) {
      end = System.nanoTime();
      driver.stop();
    }
  }

  public void registered(SchedulerDriver driver, FrameworkID id, MasterInfo master) {}

  public void reregistered(SchedulerDriver driver, MasterInfo master) {}

  public void disconnected(SchedulerDriver driver) {}

  public void offerRescinded(SchedulerDriver driver, OfferID id) {}

  public void frameworkMessage(SchedulerDriver d, ExecutorID e, SlaveID s, byte[] data) {}

  public void slaveLost(SchedulerDriver driver, SlaveID id) {}

  public void executorLost(SchedulerDriver driver, ExecutorID e, SlaveID s, int status) {}

  public void error(SchedulerDriver driver, String message) {
    System.err.println(message);
  }

  public static void main(String[] arguments) {
    Launch launch = new Launch(Integer.parseInt(arguments[1]));
    FrameworkInfo info = FrameworkInfo.newBuilder().setUser("").setName("driver").build();
    Status status = new MesosSchedulerDriver(launch, info, arguments[0]).run();
    if (launch.end != 0) {
      System.out.println(Math.round(launch.wanted * 1e9 / (launch.end - launch.begin)));
    }
    System.exit(status == Status.DRIVER_STOPPED ? 0 : 1);
  }
}
