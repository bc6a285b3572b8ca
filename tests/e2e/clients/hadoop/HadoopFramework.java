import com.google.protobuf.ByteString;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapred.FileInputFormat;
import org.apache.hadoop.mapred.FileOutputFormat;
import org.apache.hadoop.mapred.JobClient;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.JobTracker;
import org.apache.hadoop.mapred.RunningJob;
import org.apache.hadoop.mapred.TaskTracker;
import org.apache.hadoop.mapred.lib.LongSumReducer;
import org.apache.hadoop.mapred.lib.TokenCountMapper;
import org.apache.mesos.Executor;
import org.apache.mesos.ExecutorDriver;
import org.apache.mesos.MesosExecutorDriver;
import org.apache.mesos.MesosSchedulerDriver;
import org.apache.mesos.Protos.*;
import org.apache.mesos.Scheduler;
import org.apache.mesos.SchedulerDriver;

/**
 * Hadoop 1 on Mesos as mesos/hadoop did it, small: a JobTracker whose TaskTrackers are Mesos tasks of
 * custom executors, which get their configuration as the task's data. Trackers that are lost are
 * launched anew. It counts the words of a folder and prints "RESULT words different the".
 *
 *   HadoopFramework MASTER DIRECTORY INPUT TRACKERS
 */
public class HadoopFramework implements Scheduler {
  private final JobConf conf;
  private final int trackers;
  private final Set<String> alive = new HashSet<>();
  private int launched;

  HadoopFramework(JobConf conf, int trackers) {
    this.conf = conf;
    this.trackers = trackers;
  }

  private static int freePort() throws Exception {
    try (ServerSocket socket = new ServerSocket(0)) {
      return socket.getLocalPort();
    }
  }

  private static JobConf configure(String directory) throws Exception {
    JobConf conf = new JobConf();
    conf.set("fs.default.name", "file:///");
    conf.set("mapred.job.tracker", "127.0.0.1:" + freePort());
    conf.set("mapred.job.tracker.http.address", "127.0.0.1:0");
    conf.set("mapred.task.tracker.http.address", "127.0.0.1:0");
    conf.set("hadoop.tmp.dir", directory + "/tmp");
    conf.set("mapred.child.java.opts", "-Xmx64m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC");
    conf.setInt("mapred.tasktracker.map.tasks.maximum", 1);
    conf.setInt("mapred.tasktracker.reduce.tasks.maximum", 1);
    conf.setInt("mapred.tasktracker.expiry.interval", 4000);
    conf.setInt("mapred.heartbeats.in.second", 100);
    conf.setInt("mapreduce.jobtracker.heartbeat.interval.min", 300);
    conf.setInt("io.sort.mb", 8);
    return conf;
  }

  private static Resource scalar(String name, double value) {
    return Resource.newBuilder().setName(name).setType(Value.Type.SCALAR)
        .setScalar(Value.Scalar.newBuilder().setValue(value)).setRole("*").build();
  }

  private TaskInfo tracker(Offer offer) throws Exception {
    String name = "tracker-" + launched++;
    ByteArrayOutputStream settings = new ByteArrayOutputStream();
    conf.writeXml(settings);
    String command = "exec java -Xmx96m -XX:+UseSerialGC -Dhadoop.log.dir=. -cp '"
        + System.getProperty("java.class.path") + "' HadoopFramework executor";
    return TaskInfo.newBuilder().setName(name).setTaskId(TaskID.newBuilder().setValue(name))
        .setSlaveId(offer.getSlaveId()).addResources(scalar("cpus", 1))
        .addResources(scalar("mem", 256)).setData(ByteString.copyFrom(settings.toByteArray()))
        .setExecutor(ExecutorInfo.newBuilder().setName("tracker")
            .setExecutorId(ExecutorID.newBuilder().setValue(name))
            .setCommand(CommandInfo.newBuilder().setValue(command))
            .addResources(scalar("cpus", 0.1)).addResources(scalar("mem", 64))).build();
  }

  public synchronized void resourceOffers(SchedulerDriver driver, List<Offer> offers) {
    for (Offer offer : offers) {
      List<TaskInfo> tasks = new ArrayList<>();
      try {
        if (alive.size() < trackers) {
          tasks.add(tracker(offer));
          alive.add(tasks.get(0).getTaskId().getValue());
        }
      } catch (Exception e) {
        throw new RuntimeException(e);
      }
      driver.launchTasks(Collections.singletonList(offer.getId()), tasks,
          Filters.newBuilder().setRefuseSeconds(1).build());
    }
  }

  public synchronized void statusUpdate(SchedulerDriver driver, TaskStatus status) {
    String name = status.getTaskId().getValue();
    System.out.println("update\t" + name + "\t" + status.getState());
    switch (status.getState()) {
      case TASK_FINISHED: case TASK_FAILED: case TASK_KILLED: case TASK_LOST: case TASK_ERROR:
        if (alive.remove(name)) {
          driver.reviveOffers();
        }
        break;
      default:
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
    System.out.println("error\t" + message);
  }

  /** One TaskTracker, in the executor's own JVM. */
  static class TrackerExecutor implements Executor {
    public void launchTask(ExecutorDriver driver, TaskInfo task) {
      new Thread(() -> {
        try {
          Configuration settings = new Configuration(false);
          settings.addResource(new ByteArrayInputStream(task.getData().toByteArray()));
          JobConf conf = new JobConf(settings);
          conf.set("mapred.local.dir", new File("local").getAbsolutePath());
          TaskTracker tracker = new TaskTracker(conf);
          send(driver, task.getTaskId(), TaskState.TASK_RUNNING);
          tracker.run();
          send(driver, task.getTaskId(), TaskState.TASK_FINISHED);
        } catch (Throwable e) {
          e.printStackTrace();
          send(driver, task.getTaskId(), TaskState.TASK_FAILED);
        }
        driver.stop();
      }).start();
    }

    private static void send(ExecutorDriver driver, TaskID id, TaskState state) {
      driver.sendStatusUpdate(TaskStatus.newBuilder().setTaskId(id).setState(state).build());
    }

    public void killTask(ExecutorDriver driver, TaskID id) {
      send(driver, id, TaskState.TASK_KILLED);
      driver.stop();
    }

    public void shutdown(ExecutorDriver driver) {
      driver.stop();
    }

    public void registered(ExecutorDriver d, ExecutorInfo e, FrameworkInfo f, SlaveInfo s) {}

    public void reregistered(ExecutorDriver driver, SlaveInfo agent) {}

    public void disconnected(ExecutorDriver driver) {}

    public void frameworkMessage(ExecutorDriver driver, byte[] data) {}

    public void error(ExecutorDriver driver, String message) {}
  }

  private static RunningJob submit(JobConf settings, String input, String output)
      throws Exception {
    JobConf job = new JobConf(settings);
    job.setJobName("words");
    job.setMapperClass(TokenCountMapper.class);
    job.setCombinerClass(LongSumReducer.class);
    job.setReducerClass(LongSumReducer.class);
    job.setOutputKeyClass(Text.class);
    job.setOutputValueClass(LongWritable.class);
    job.setNumReduceTasks(2);
    FileInputFormat.setInputPaths(job, new Path(input));
    FileOutputFormat.setOutputPath(job, new Path(output));
    return new JobClient(job).submitJob(job);
  }

  private static String counted(String output) throws Exception {
    long words = 0;
    long different = 0;
    long the = 0;
    for (File part : new File(output).listFiles()) {
      if (!part.getName().startsWith("part-")) {
        continue;
      }
      for (String line : Files.readAllLines(part.toPath(), StandardCharsets.UTF_8)) {
        String[] pair = line.split("\t");
        words += Long.parseLong(pair[1]);
        different++;
        the += pair[0].equals("the") ? Long.parseLong(pair[1]) : 0;
      }
    }
    return words + " " + different + " " + the;
  }

  public static void main(String[] arguments) throws Exception {
    if (arguments[0].equals("executor")) {
      System.exit(new MesosExecutorDriver(new TrackerExecutor()).run() == Status.DRIVER_STOPPED
          ? 0 : 1);
    }
    JobConf conf = configure(arguments[1]);
    int trackers = Integer.parseInt(arguments[3]);
    JobTracker jobTracker = JobTracker.startTracker(conf);
    new Thread(() -> {
      try {
        jobTracker.offerService();
      } catch (Exception e) {
        e.printStackTrace();
      }
    }).start();
    FrameworkInfo info = FrameworkInfo.newBuilder().setUser("").setName("hadoop")
        .setFailoverTimeout(60).build();
    MesosSchedulerDriver driver =
        new MesosSchedulerDriver(new HadoopFramework(conf, trackers), info, arguments[0]);
    driver.start();
    while (jobTracker.getClusterStatus(false).getTaskTrackers() < trackers) {
      Thread.sleep(100);
    }
    System.out.println("trackers\t" + trackers);
    RunningJob job = submit(conf, arguments[2], arguments[1] + "/output");
    boolean told = false;
    while (!job.isComplete()) {
      if (!told && job.mapProgress() > 0) {
        System.out.println("maps\t" + job.mapProgress());
        told = true;
      }
      Thread.sleep(100);
    }
    System.out.println(job.isSuccessful() ? "RESULT\t" + counted(arguments[1] + "/output")
        : "failed\tthe job");
    driver.stop();
    System.exit(job.isSuccessful() ? 0 : 1);
  }
}
