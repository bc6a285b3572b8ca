import java.io.BufferedReader;
import java.io.InputStreamReader;
import org.apache.mesos.v1.Protos.*;
import org.apache.mesos.v1.scheduler.Mesos;
import org.apache.mesos.v1.scheduler.Protos.Call;
import org.apache.mesos.v1.scheduler.Protos.Event;
import org.apache.mesos.v1.scheduler.Scheduler;
import org.apache.mesos.v1.scheduler.V0Mesos;
import org.apache.mesos.v1.scheduler.V1Mesos;

/** A scheduler on the v1 library, V0Mesos or V1Mesos, driven as Driven is. */
public class DrivenV1 implements Scheduler {
  private static final FrameworkInfo INFO =
      FrameworkInfo.newBuilder().setUser("root").setName("driven-v1").build();
  private FrameworkID id;
  private Mesos mesos;

  static synchronized void say(Object... words) {
    StringBuilder line = new StringBuilder();
    for (Object word : words) {
      line.append(line.length() == 0 ? "" : "\t").append(word.toString().replaceAll("[\t\n]", " "));
    }
    System.out.println(line);
    System.out.flush();
  }

  private void subscribe(Mesos mesos) {
    FrameworkInfo.Builder info = INFO.toBuilder();
    Call.Builder call = Call.newBuilder().setType(Call.Type.SUBSCRIBE);
    if (id != null) {
      info.setId(id).setFailoverTimeout(60);
      call.setFrameworkId(id);
    }
    mesos.send(call.setSubscribe(Call.Subscribe.newBuilder().setFrameworkInfo(
        info.setFailoverTimeout(60))).build());
  }

  public void connected(Mesos mesos) {
    say("connected");
    subscribe(mesos);
  }

  public void disconnected(Mesos mesos) {
    say("disconnected");
  }

  public void received(Mesos mesos, Event event) {
    switch (event.getType()) {
      case SUBSCRIBED:
        id = event.getSubscribed().getFrameworkId();
        say("SUBSCRIBED", id.getValue());
        break;
      case OFFERS: {
        Offer offer = event.getOffers().getOffers(0);
        say("OFFERS", offer.getId().getValue(), offer.getAgentId().getValue());
        break;
      }
      case UPDATE: {
        TaskStatus status = event.getUpdate().getStatus();
        say("UPDATE", status.getTaskId().getValue(), status.getState());
        if (status.hasUuid()) {
          mesos.send(Call.newBuilder().setType(Call.Type.ACKNOWLEDGE).setFrameworkId(id)
              .setAcknowledge(Call.Acknowledge.newBuilder().setAgentId(status.getAgentId())
                  .setTaskId(status.getTaskId()).setUuid(status.getUuid())).build());
        }
        break;
      }
      case ERROR:
        say("ERROR", event.getError().getMessage());
        break;
      default:
        say(event.getType());
    }
  }

  private static Resource scalar(String name, double value) {
    return Resource.newBuilder().setName(name).setType(Value.Type.SCALAR)
        .setScalar(Value.Scalar.newBuilder().setValue(value)).build();
  }

  private void carryOut(String[] w) {
    Call.Builder call = Call.newBuilder();
    if (id != null) {
      call.setFrameworkId(id);
    }
    switch (w[0]) {
      case "launch":
        mesos.send(call.setType(Call.Type.ACCEPT).setAccept(Call.Accept.newBuilder()
            .addOfferIds(OfferID.newBuilder().setValue(w[1])).addOperations(
                Offer.Operation.newBuilder().setType(Offer.Operation.Type.LAUNCH).setLaunch(
                    Offer.Operation.Launch.newBuilder().addTaskInfos(TaskInfo.newBuilder()
                        .setName(w[3]).setTaskId(TaskID.newBuilder().setValue(w[3]))
                        .setAgentId(AgentID.newBuilder().setValue(w[2]))
                        .addResources(scalar("cpus", 0.1)).addResources(scalar("mem", 32))
                        .setCommand(CommandInfo.newBuilder().setValue(w[4])))))).build());
        break;
      case "bad":
        mesos.send(call.setType(Call.Type.KILL).build());
        break;
      case "teardown":
        mesos.send(call.setType(Call.Type.TEARDOWN).build());
        break;
      case "reconnect":
        mesos.reconnect();
        break;
      default:
        throw new IllegalArgumentException(w[0]);
    }
  }

  public static void main(String[] arguments) throws Exception {
    DrivenV1 driven = new DrivenV1();
    Credential credential =
        Credential.newBuilder().setPrincipal("someone").setSecret("secret").build();
    driven.mesos = arguments[0].equals("V0") ? new V0Mesos(driven, INFO, arguments[1], credential)
        : new V1Mesos(driven, arguments[1]);
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
    for (String line; (line = in.readLine()) != null;) {
      driven.carryOut(line.split("\t"));
    }
  }
}
