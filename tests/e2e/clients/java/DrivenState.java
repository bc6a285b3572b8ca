import java.nio.charset.StandardCharsets;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.Random;
import org.apache.mesos.Log;
import org.apache.mesos.state.InMemoryState;
import org.apache.mesos.state.LevelDBState;
import org.apache.mesos.state.LogState;
import org.apache.mesos.state.State;
import org.apache.mesos.state.Variable;
import org.apache.mesos.state.ZooKeeperState;

/** State over leveldb, against a map that says what should be there. Prints "good" at the end. */
public class DrivenState {
  static void check(boolean condition, String what) {
    if (!condition) {
      throw new AssertionError(what);
    }
  }

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  static String text(Variable variable) {
    return new String(variable.value(), StandardCharsets.UTF_8);
  }

  static TreeSet<String> names(State state) throws Exception {
    TreeSet<String> names = new TreeSet<>();
    for (Iterator<String> at = state.names().get(); at.hasNext();) {
      names.add(at.next());
    }
    return names;
  }

  static void basics(State state) throws Exception {
    Variable empty = state.fetch("näme").get();
    check(empty.value().length == 0, "an unknown name is empty");
    check(names(state).isEmpty(), "fetching stores nothing");
    Variable first = state.store(empty.mutate(bytes("one"))).get();
    check(text(first).equals("one") && text(empty).equals(""), "variables do not change");
    check(names(state).toString().equals("[näme]"), "names");
    check(state.store(first.mutate(bytes("two"))).get(9, TimeUnit.SECONDS) != null, "stored");
    check(state.store(first.mutate(bytes("three"))).get() == null, "had changed meanwhile");
    check(text(state.fetch("näme").get()).equals("two"), "kept");
    check(!state.expunge(first).get(), "not with an old variable");
    Variable last = state.fetch("näme").get();
    check(state.expunge(last).get() && !state.expunge(last).get(9, TimeUnit.SECONDS), "once");
    check(names(state).isEmpty(), "expunged");
    byte[] all = new byte[3 << 20];
    new Random(7).nextBytes(all);
    Variable big = state.store(state.fetch("big").get().mutate(all)).get();
    check(java.util.Arrays.equals(state.fetch("big").get().value(), all), "any bytes");
    check(state.expunge(big).get(), "expunged");
  }

  /** Random operations beside a map; `known` variables may be old ones. */
  static void model(State state, long seed, int steps) throws Exception {
    Random random = new Random(seed);
    Map<String, String> values = new TreeMap<>();
    Map<String, Variable> known = new TreeMap<>();
    Map<String, Integer> versions = new TreeMap<>(), knownVersions = new TreeMap<>();
    for (int i = 0; i < steps; i++) {
      String name = "n" + random.nextInt(5);
      int version = versions.getOrDefault(name, 0);
      boolean current = knownVersions.getOrDefault(name, -1) == version;
      switch (random.nextInt(4)) {
        case 0: {
          Variable variable = state.fetch(name).get();
          check(text(variable).equals(values.getOrDefault(name, "")), "fetched");
          known.put(name, variable);
          knownVersions.put(name, version);
          break;
        }
        case 1: {
          if (!known.containsKey(name)) {
            break;
          }
          String value = "v" + i;
          Variable stored = state.store(known.get(name).mutate(bytes(value))).get();
          // A name that is not there takes any variable.
          check((stored != null) == (current || !values.containsKey(name)), "stored or not");
          if (stored != null) {
            values.put(name, value);
            versions.put(name, i + 1);
            if (random.nextBoolean()) {
              known.put(name, stored);
              knownVersions.put(name, i + 1);
            }
          }
          break;
        }
        case 2: {
          if (!known.containsKey(name)) {
            break;
          }
          boolean expunged = state.expunge(known.get(name)).get();
          check(expunged == (values.containsKey(name) && current), "expunged or not");
          if (expunged) {
            values.remove(name);
            versions.put(name, -i - 2);
          }
          break;
        }
        default:
          check(names(state).equals(values.keySet()), "names");
      }
    }
  }

  static void futures(LevelDBState state) throws Exception {
    Variable variable = state.fetch("x").get();
    byte[] big = new byte[4 << 20];
    Future<?>[] many = new Future<?>[40];
    Future<Variable> last;
    int tries = 0;
    do {
      for (int i = 0; i < many.length; i++) {
        many[i] = state.store(variable.mutate(big));
      }
      last = state.fetch("x");
      check(++tries < 100, "what waits behind much can be cancelled");
      // Unless this thread was slower than all of that.
    } while (!last.cancel(true));
    check(last.isCancelled() && last.isDone(), "cancelled");
    check(!last.cancel(true), "only once");
    try {
      last.get();
      check(false, "no value");
    } catch (CancellationException e) {
      check(e.getMessage() != null, "text");
    }
    Future<Variable> late = state.fetch("x");
    try {
      late.get(1, TimeUnit.NANOSECONDS);
      check(late.isDone(), "a time limit");
    } catch (TimeoutException e) {
      check(!late.isCancelled(), "goes on");
    }
    Future<Iterator<String>> after = state.names();
    Thread.currentThread().interrupt();
    try {
      after.get(60, TimeUnit.SECONDS);
      check(after.isDone(), "done before it looked");
      Thread.interrupted();
    } catch (InterruptedException e) {
      check(!Thread.currentThread().isInterrupted(), "cleared");
    }
    late.get(60, TimeUnit.SECONDS);
    check(late.isDone() && !late.isCancelled() && !late.cancel(true), "done");
    int stored = 0;
    for (Future<?> future : many) {
      stored += future.get() != null ? 1 : 0;
    }
    check(stored == (tries == 1 ? 1 : 0), "one of those that knew the same value: " + stored);
  }

  /** The value once the first state was collected: two cannot have the database. */
  static String reopened(String path) throws Exception {
    for (int i = 0;; i++) {
      System.gc();
      System.runFinalization();
      try {
        return text(new LevelDBState(path).fetch("kept").get());
      } catch (ExecutionException e) {
        check(e.getMessage().contains("lock") && i < 100, e.getMessage());
      }
    }
  }

  static void failures() throws Exception {
    LevelDBState broken = new LevelDBState("/proc/no/such/place");
    try {
      broken.fetch("x").get();
      check(false, "no database");
    } catch (ExecutionException e) {
      check(e.getMessage().contains("/proc/no/such/place"), e.getMessage());
    }
    try {
      broken.fetch(null);
      check(false, "null");
    } catch (NullPointerException e) {
      check(e.getMessage().equals("name"), e.getMessage());
    }
  }

  interface Attempt {
    Object run() throws Exception;
  }

  static void refused(Attempt attempt) throws Exception {
    try {
      attempt.run();
      check(false, "made what is not there");
    } catch (UnsupportedOperationException e) {
      check(e.getMessage().startsWith("mesita "), e.getMessage());
    }
  }

  public static void main(String[] arguments) throws Exception {
    String path = arguments[0];
    LevelDBState state = new LevelDBState(path + "/db");
    basics(state);
    State memory = new InMemoryState();
    check(text(memory.store(memory.fetch("x").get().mutate(bytes("1"))).get()).equals("1"), "Java");
    for (long seed = 0; seed < 20; seed++) {
      model(new LevelDBState(path + "/model" + seed), seed, 300);
    }
    futures(state);
    Variable kept = state.store(state.fetch("kept").get().mutate(bytes("value"))).get();
    state = null;
    check(text(kept).equals("value"), "variables outlive states");
    check(reopened(path + "/db").equals("value"), "kept on disk");
    failures();
    refused(() -> new ZooKeeperState("localhost:2181", 1, TimeUnit.SECONDS, "/x"));
    refused(() -> new ZooKeeperState("localhost:2181", 1, TimeUnit.SECONDS, "/x", "digest",
        new byte[0]));
    refused(() -> new LogState("localhost:2181", 1, TimeUnit.SECONDS, "/x", 1, path));
    refused(() -> new Log(1, path, new java.util.HashSet<String>()));
    refused(() -> new Log(1, path, "localhost:2181", 1, TimeUnit.SECONDS, "/x"));
    refused(() -> new Log(1, path, "localhost:2181", 1, TimeUnit.SECONDS, "/x", "digest",
        new byte[0]));
    System.out.println("good");
  }
}
