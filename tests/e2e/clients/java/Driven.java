import com.google.protobuf.ByteString;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import org.apache.mesos.MesosSchedulerDriver;
import org.apache.mesos.Protos.*;
import org.apache.mesos.Scheduler;
import org.apache.mesos.SchedulerDriver;

/**
 * A scheduler that does what its standard input says and tells on standard output what it hears.
 *
 * Both are lines of words with tabs between them. A line begins with a command, or with the name
 * of a callback and of the thread it came on. Answers to commands begin with "=".
 */
public class Driven implements Scheduler {
  private MesosSchedulerDriver driver;
  private final List<String> toThrow = Collections.synchronizedList(new ArrayList<>());
  private final List<String> toStop = Collections.synchronizedList(new ArrayList<>());
  private boolean quiet;

  static synchronized void say(Object... words) {
    StringBuilder line = new StringBuilder();
    for (Object word : words) {
      line.append(line.length() == 0 ? "" : "\t").append(word.toString().replaceAll("[\t\n]", " "));
    }
    System.out.println(line);
    System.out.flush();
  }

  private void tell(String callback, Object... words) {
    Object[] all = new Object[words.length + 2];
    all[0] = callback;
    all[1] = Thread.currentThread().getId() + ":" + Thread.currentThread().isDaemon() + ":"
        + (Thread.currentThread().getContextClassLoader() == Driven.class.getClassLoader());
    System.arraycopy(words, 0, all, 2, words.length);
    say(all);
    if (toStop.remove(callback)) {
      say("=", "stop", driver.stop(), "join", driver.join());
    }
    if (toThrow.remove(callback)) {
      throw new RuntimeException("thrown by " + callback);
    }
  }

  // ---- callbacks ----

  public void registered(SchedulerDriver d, FrameworkID id, MasterInfo master) {
    tell("registered", id.getValue(), master.getPort(), d == driver);
  }

  public void reregistered(SchedulerDriver d, MasterInfo master) {
    tell("reregistered", master.getPort());
  }

  public void disconnected(SchedulerDriver d) {
    tell("disconnected");
  }

  public void resourceOffers(SchedulerDriver d, List<Offer> offers) {
    List<Object> words = new ArrayList<>();
    for (Offer offer : offers) {
      double cpus = 0;
      for (Resource resource : offer.getResourcesList()) {
        cpus += resource.getName().equals("cpus") ? resource.getScalar().getValue() : 0;
      }
      words.add(offer.getId().getValue() + " " + offer.getSlaveId().getValue() + " " + cpus + " "
          + offer.getHostname());
    }
    tell("resourceOffers", words.toArray());
  }

  public void offerRescinded(SchedulerDriver d, OfferID id) {
    tell("offerRescinded", id.getValue());
  }

  public void statusUpdate(SchedulerDriver d, TaskStatus status) {
    last = status; // who is told may ask for its acknowledgement at once
    tell("statusUpdate", status.getTaskId().getValue(), status.getState(), status.getSource(),
        status.hasReason() ? status.getReason() : "-", status.hasUuid(),
        status.hasMessage() ? status.getMessage() : "-", status.getData().toStringUtf8());
  }

  private volatile TaskStatus last;

  public void frameworkMessage(SchedulerDriver d, ExecutorID executor, SlaveID agent, byte[] data) {
    tell("frameworkMessage", executor.getValue(), agent.getValue(),
        new String(data, StandardCharsets.UTF_8));
  }

  public void slaveLost(SchedulerDriver d, SlaveID agent) {
    tell("slaveLost", agent.getValue());
  }

  public void executorLost(SchedulerDriver d, ExecutorID executor, SlaveID agent, int status) {
    tell("executorLost", executor.getValue(), agent.getValue(), status);
  }

  public void error(SchedulerDriver d, String message) {
    tell("error", message);
  }

  // ---- commands ----

  private static String option(String[] words, String name, String preset) {
    for (String word : words) {
      if (word.startsWith(name + "=")) {
        return word.substring(name.length() + 1);
      }
    }
    return preset;
  }

  private static FrameworkInfo info(String[] words) {
    FrameworkInfo.Builder info = FrameworkInfo.newBuilder().setUser(option(words, "user", ""))
        .setName(option(words, "name", "driven")).setRole(option(words, "role", "*"))
        .setFailoverTimeout(Double.parseDouble(option(words, "failover", "0")))
        .setCheckpoint(option(words, "checkpoint", "0").equals("1"));
    for (String role : list(option(words, "roles", ""))) {
      info.clearRole().addRoles(role);
    }
    for (String capability : list(option(words, "capabilities", ""))) {
      info.addCapabilities(FrameworkInfo.Capability.newBuilder().setType(
          FrameworkInfo.Capability.Type.valueOf(capability)));
    }
    if (!option(words, "id", "").isEmpty()) {
      info.setId(FrameworkID.newBuilder().setValue(option(words, "id", "")));
    }
    return info.build();
  }

  private static List<String> list(String text) {
    return text.isEmpty() ? Collections.<String>emptyList()
        : java.util.Arrays.asList(text.split(","));
  }

  private void make(String[] words) throws Exception {
    boolean implicit = option(words, "implicit", "1").equals("1");
    String master = option(words, "master", "");
    String principal = option(words, "principal", "");
    Credential credential = principal.isEmpty() ? null
        : Credential.newBuilder().setPrincipal(principal).setSecret("secret").build();
    Collection<String> suppressed = list(option(words, "suppressed", ""));
    if (!suppressed.isEmpty()) {
      driver = MesosSchedulerDriver.class.getConstructor(Scheduler.class, FrameworkInfo.class,
          Collection.class, String.class, boolean.class).newInstance(
          this, info(words), suppressed, master, implicit);
    } else if (credential != null) {
      driver = new MesosSchedulerDriver(this, info(words), master, implicit, credential);
    } else if (implicit) {
      driver = new MesosSchedulerDriver(this, info(words), master);
    } else {
      driver = new MesosSchedulerDriver(this, info(words), master, false);
    }
  }

  private static List<OfferID> offers(String text) {
    List<OfferID> ids = new ArrayList<>();
    for (String id : list(text)) {
      ids.add(OfferID.newBuilder().setValue(id).build());
    }
    return ids;
  }

  private static Resource scalar(String name, double value) {
    return Resource.newBuilder().setName(name).setType(Value.Type.SCALAR)
        .setScalar(Value.Scalar.newBuilder().setValue(value)).setRole("*").build();
  }

  /** "id agent cpus command TEXT", or "id agent cpus executor ID CLASSPATH-COMMAND DATA". */
  private static TaskInfo task(String text) {
    String[] words = text.split("\\|");
    TaskInfo.Builder task = TaskInfo.newBuilder().setName(words[0])
        .setTaskId(TaskID.newBuilder().setValue(words[0]))
        .setSlaveId(SlaveID.newBuilder().setValue(words[1]))
        .addResources(scalar("cpus", Double.parseDouble(words[2])))
        .addResources(scalar("mem", 32));
    if (words[3].equals("command")) {
      task.setCommand(CommandInfo.newBuilder().setValue(words[4]));
    } else {
      CommandInfo.Builder command = CommandInfo.newBuilder().setValue(words[5]);
      if (words.length > 7) {
        command.addUris(CommandInfo.URI.newBuilder().setValue(words[7]));
      }
      task.setExecutor(ExecutorInfo.newBuilder()
          .setExecutorId(ExecutorID.newBuilder().setValue(words[4])).setCommand(command)
          .setName("driven").addResources(scalar("cpus", 0.1)).addResources(scalar("mem", 32))
          .setData(ByteString.copyFromUtf8("for " + words[4])));
      task.setData(ByteString.copyFromUtf8(words[6]));
    }
    return task.build();
  }

  private static List<TaskInfo> tasks(String[] words, int from) {
    List<TaskInfo> tasks = new ArrayList<>();
    for (int i = from; i < words.length; i++) {
      tasks.add(task(words[i]));
    }
    return tasks;
  }

  private static Filters filters(String seconds) {
    return Filters.newBuilder().setRefuseSeconds(Double.parseDouble(seconds)).build();
  }

  private static TaskStatus status(String word) {
    String[] parts = word.split("@");
    TaskStatus.Builder status = TaskStatus.newBuilder().setState(TaskState.TASK_RUNNING)
        .setTaskId(TaskID.newBuilder().setValue(parts[0]));
    if (parts.length > 1) {
      status.setSlaveId(SlaveID.newBuilder().setValue(parts[1]));
    }
    return status.build();
  }

  private Object update(String[] words) throws Exception {
    return MesosSchedulerDriver.class.getMethod("updateFramework", FrameworkInfo.class,
        Collection.class).invoke(driver, info(words), list(option(words, "suppressed", "")));
  }

  /** With an attribute that no agent has. */
  private Object constrain(String[] words) throws Exception {
    Class<?> type = Class.forName("org.apache.mesos.scheduler.Protos$OfferConstraints");
    byte[] bytes = java.util.Base64.getDecoder().decode(option(words, "bytes", ""));
    Object constraints = type.getMethod("parseFrom", byte[].class).invoke(null, (Object) bytes);
    return MesosSchedulerDriver.class.getMethod("updateFramework", FrameworkInfo.class,
        Collection.class, type).invoke(driver, info(words), list(""), constraints);
  }

  private Object roles(String name, String text) throws Exception {
    return MesosSchedulerDriver.class.getMethod(name, Collection.class).invoke(driver, list(text));
  }

  private Object carryOut(String[] w) throws Exception {
    switch (w[0]) {
      case "new": make(w); return "made";
      case "start": return driver.start();
      case "stop": return driver.stop(w.length > 1 && w[1].equals("1"));
      case "abort": return driver.abort();
      case "join": return driver.join();
      case "run": {
        new Thread(() -> say("=", "ran", driver.run())).start();
        return "runs";
      }
      case "throw": toThrow.add(w[1]); return "will";
      case "stopin": toStop.add(w[1]); return "will";
      case "launch": return driver.launchTasks(offers(w[1]), tasks(w, 2));
      case "launch1": return driver.launchTasks(offers(w[1]).get(0), tasks(w, 2), filters("0"));
      case "launchf": return driver.launchTasks(offers(w[1]), tasks(w, 3), filters(w[2]));
      case "accept": return driver.acceptOffers(offers(w[1]), Collections.singletonList(
          Offer.Operation.newBuilder().setType(Offer.Operation.Type.LAUNCH).setLaunch(
              Offer.Operation.Launch.newBuilder().addAllTaskInfos(tasks(w, 2))).build()),
          filters("0"));
      case "decline": return w.length > 2 ? driver.declineOffer(offers(w[1]).get(0), filters(w[2]))
          : driver.declineOffer(offers(w[1]).get(0));
      case "revive": return w.length > 1 ? roles("reviveOffers", w[1]) : driver.reviveOffers();
      case "suppress": return w.length > 1 ? roles("suppressOffers", w[1])
          : driver.suppressOffers();
      case "kill": return driver.killTask(TaskID.newBuilder().setValue(w[1]).build());
      case "ack": return driver.acknowledgeStatusUpdate(last);
      case "request": return driver.requestResources(Collections.singletonList(
          Request.newBuilder().addResources(scalar("cpus", 1)).build()));
      case "message": return driver.sendFrameworkMessage(
          ExecutorID.newBuilder().setValue(w[1]).build(), SlaveID.newBuilder().setValue(w[2])
              .build(), w[3].getBytes(StandardCharsets.UTF_8));
      case "reconcile": {
        List<TaskStatus> statuses = new ArrayList<>();
        for (int i = 1; i < w.length; i++) {
          statuses.add(status(w[i]));
        }
        return driver.reconcileTasks(statuses);
      }
      case "update": return update(w);
      case "constrain": return constrain(w);
      case "null": return driver.killTask(null);
      case "nulls": return driver.launchTasks((Collection<OfferID>) null, tasks(w, 2));
      case "forget": {
        driver = null;
        for (int i = 0; i < 10; i++) {
          System.gc();
          System.runFinalization();
        }
        return "forgotten";
      }
      case "version":
        org.apache.mesos.MesosNativeLibrary.load();
        return org.apache.mesos.MesosNativeLibrary.version().equals(
            new org.apache.mesos.MesosNativeLibrary.Version(1, 11, 0)) ? "1.11.0" : "another";
      case "halt": Runtime.getRuntime().halt(3); return "";
      case "exit": System.exit(4); return "";
      default: throw new IllegalArgumentException(w[0]);
    }
  }

  public static void main(String[] arguments) throws Exception {
    Driven driven = new Driven();
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
    String line;
    while ((line = in.readLine()) != null) {
      String[] words = line.split("\t");
      try {
        say("=", words[0], driven.carryOut(words));
      } catch (java.lang.reflect.InvocationTargetException e) {
        say("=", words[0], "threw", e.getCause());
      } catch (Throwable e) {
        say("=", words[0], "threw", e);
      }
    }
  }
}
