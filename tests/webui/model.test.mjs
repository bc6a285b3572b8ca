// The page's model against what it should be, by random events: node --test tests/webui
// SEED and ROUNDS choose others.

import assert from "node:assert/strict";
import test from "node:test";
import { AMOUNTS, Cluster, keyOf, none } from "../../webui/model/cluster.js";
import { History } from "../../webui/model/history.js";
import { ask } from "../../webui/model/query.js";
import { Records } from "../../webui/model/recordio.js";
import { ALL_STATES, isOver, isUnreachable, stateOrder, stateWord } from "../../webui/model/states.js";

const SEED = Number(process.env.SEED || 1), ROUNDS = Number(process.env.ROUNDS || 40);

function random(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t ^= t + Math.imul(t ^ (t >>> 7), 61 | t);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const below = (n) => Math.floor(next() * n);
  return { below, pick: (list) => list[below(list.length)], chance: (p) => next() < p };
}

const id = (value) => ({ value });
const scalar = (name, value, more = {}) => ({ name, type: "SCALAR", scalar: { value }, ...more });

// ---- RecordIO

test("records come in any pieces", () => {
  const texts = ["", "a", "{\"x\":\"äöü€😀\"}", "\n1\n", "x".repeat(1000), "é".repeat(7)];
  const bytes = new TextEncoder().encode(texts.map((text) => `${new TextEncoder().encode(text).length}\n${text}`).join(""));
  const rng = random(SEED);
  for (let round = 0; round < 200; round++) {
    const got = [], records = new Records((text) => got.push(text));
    for (let at = 0; at < bytes.length;) {
      const size = round === 0 ? 1 : 1 + rng.below(round === 1 ? bytes.length : 9);
      records.feed(bytes.subarray(at, at + size));
      at += size;
    }
    assert.deepEqual(got, texts);
  }
});

test("what is no RecordIO is refused", () => {
  for (const text of ["x", "-1\n", "\n", "1x\n", "9999999999999\n", "{}"])
    assert.throws(() => new Records(() => {}).feed(new TextEncoder().encode(text)), /no RecordIO/, text);
});

// ---- states

test("states", () => {
  assert.equal(ALL_STATES.length, 14);
  assert.deepEqual(ALL_STATES.filter((state) => !isOver(state)),
    ["TASK_STAGING", "TASK_STARTING", "TASK_RUNNING", "TASK_KILLING", "TASK_UNREACHABLE"]);
  assert.deepEqual(ALL_STATES.filter(isUnreachable), ["TASK_UNREACHABLE"]);
  assert.equal(stateWord("TASK_NEW"), "TASK_NEW");
});

// ---- a cluster that lives

class World {
  constructor(seed) {
    this.rng = random(seed);
    this.agents = new Map();
    this.frameworks = new Map();
    this.tasks = new Map();
    this.last = 0;
  }

  agent() {
    const agent = `A${this.rng.below(6)}`;
    const total = [scalar("cpus", 1 + this.rng.below(8)), scalar("mem", 1024), scalar("gpus", this.rng.below(2)),
                   scalar("disk", 64, { reservations: [{ role: "r" }] }),
                   { name: "ports", type: "RANGES", ranges: { range: [{ begin: 1, end: 2 }] } }];
    this.agents.set(agent, total);
    return { agent_info: { id: id(agent), hostname: `host-${agent}`, port: 5051 }, active: true, version: "1",
             pid: `slave(1)@10.0.0.1:5051`, total_resources: total, registered_time: { nanoseconds: 1e18 } };
  }

  framework() {
    const name = `F${this.rng.below(4)}`;
    this.frameworks.set(name, true);
    return { framework_info: { id: id(name), name: `name-${name}`, user: "u", roles: ["r", "s"], failover_timeout: 60 },
             active: true, connected: true };
  }

  task(state = "TASK_STAGING") {
    const name = `T${++this.last}`, framework = `F${this.rng.below(4)}`, agent = `A${this.rng.below(6)}`;
    const cpus = this.rng.pick([0.1, 0.5, 2]);
    this.tasks.set(keyOf(framework, name), { state, framework, agent, cpus, mem: 32 });
    return { task_id: id(name), framework_id: id(framework), agent_id: id(agent), name: `task ${name}`, state,
             resources: [scalar("cpus", cpus, { allocation_info: { role: "r" } }), scalar("mem", 32)],
             statuses: state === "TASK_STAGING" ? [] : [{ task_id: id(name), state, timestamp: 1000 + this.last }] };
  }

  update() {
    const keys = [...this.tasks.keys()].filter((key) => !isOver(this.tasks.get(key).state));
    if (!keys.length) return null;
    const key = this.rng.pick(keys), task = this.tasks.get(key), [framework, name] = key.split(" ");
    task.state = this.rng.pick(ALL_STATES);
    return { type: "TASK_UPDATED", task_updated: { framework_id: id(framework), state: task.state,
      status: { task_id: id(name), state: task.state, timestamp: 2000 + this.last, reason: "REASON_X" } } };
  }

  event() {
    const kinds = [
      () => ({ type: "AGENT_ADDED", agent_added: { agent: this.agent() } }),
      () => {
        const agent = this.rng.pick([...this.agents.keys(), "A99"]);
        this.agents.delete(agent);
        return { type: "AGENT_REMOVED", agent_removed: { agent_id: id(agent) } };
      },
      () => ({ type: this.rng.pick(["FRAMEWORK_ADDED", "FRAMEWORK_UPDATED"]) }),
      () => ({ type: "TASK_ADDED", task_added: { task: this.task() } }),
      () => ({ type: "TASK_ADDED", task_added: { task: this.task() } }),
      () => this.update(), () => this.update(), () => this.update(),
      () => ({ type: "HEARTBEAT" }), () => ({ type: "NOT_YET_INVENTED" }),
    ];
    const event = this.rng.pick(kinds)();
    if (event && event.type.startsWith("FRAMEWORK_")) event[event.type.toLowerCase()] = { framework: this.framework() };
    return event;
  }
}

const close = (a, b, what) => assert.ok(Math.abs(a - b) < 1e-6, `${what}: ${a}, not ${b}`);

// Everything that the model sums up, summed anew.
function check(cluster, world) {
  assert.deepEqual(new Set(cluster.agents.keys()), new Set(world.agents.keys()));
  assert.equal(cluster.tasks.size, world.tasks.size);
  const states = {}, byAgent = new Map(), byFramework = new Map();
  for (const [key, task] of world.tasks) {
    assert.equal(cluster.tasks.get(key).state, task.state);
    states[task.state] = (states[task.state] || 0) + 1;
    if (isOver(task.state) || isUnreachable(task.state)) continue;
    for (const [map, who] of [[byAgent, task.agent], [byFramework, task.framework]]) {
      const sum = map.get(who) || { ...none(), tasks: 0 };
      sum.cpus += task.cpus;
      sum.mem += task.mem;
      sum.tasks += 1;
      map.set(who, sum);
    }
  }
  for (const state of ALL_STATES) assert.equal(cluster.counts[state] || 0, states[state] || 0, state);
  for (const [things, sums] of [[cluster.agents, byAgent], [cluster.frameworks, byFramework]])
    for (const thing of things.values()) {
      const sum = sums.get(thing.id) || { ...none(), tasks: 0 };
      assert.equal(thing.load.tasks, sum.tasks, thing.id);
      for (const name of AMOUNTS) close(thing.load.used[name], sum[name], `${thing.id} ${name}`);
    }
  const summary = ask(cluster, { ask: "summary" });
  close(summary.total.mem, world.agents.size * 1024, "memory of all");
  close(summary.reserved.disk, world.agents.size * 64, "what is reserved");
  assert.equal(summary.reserved.cpus, 0);
}

// A window of a list is what sorting all of it gives.
function checkLists(cluster, rng) {
  const where = rng.pick([{}, { list: "active" }, { list: "completed" }, { framework: "F1" }, { agent: "A2" },
                          { state: "TASK_RUNNING" }, { role: "r" }, { role: "none" }]);
  const search = rng.pick(["", "", "T1", "task t1", "host-A1", "RUNNING", "name-F2 T", "nothing"]);
  const down = rng.chance(0.5), offset = rng.below(20), count = 1 + rng.below(30);
  const words = search.toLowerCase().split(" ").filter(Boolean);
  const fits = [...cluster.tasks.values()].filter((task) => {
    const agent = cluster.agents.get(task.agent), framework = cluster.frameworks.get(task.framework);
    const text = [task.id, task.name, stateWord(task.state), task.state, task.role, agent ? agent.host : "", task.agent,
                  framework ? framework.name : "", task.framework].join("\n").toLowerCase();
    return words.every((word) => text.includes(word)) &&
      Object.entries(where).every(([key, value]) => task[key] === value);
  });
  const answer = ask(cluster, { ask: "list", kind: "tasks", where, search, sort: "state", down, offset, count });
  assert.equal(answer.total, fits.length, JSON.stringify({ where, search }));
  assert.equal(answer.rows.length, Math.max(0, Math.min(count, fits.length - offset)));
  const orders = fits.map((task) => stateOrder(task.state)).sort((a, b) => (down ? b - a : a - b));
  assert.deepEqual(answer.rows.map((row) => stateOrder(row.state)), orders.slice(offset, offset + count));
  assert.equal(new Set(answer.rows.map((row) => row.key)).size, answer.rows.length);
}

for (let round = 0; round < ROUNDS; round++)
  test(`a cluster lives, seed ${SEED + round}`, () => {
    const world = new World(SEED + round), cluster = new Cluster();
    const state = {
      get_agents: { agents: [] }, get_frameworks: { frameworks: [world.framework()], completed_frameworks: [] },
      get_tasks: { tasks: [], unreachable_tasks: [], completed_tasks: [] }, get_executors: { executors: [] },
    };
    const agents = new Map([1, 2, 3].map(() => world.agent()).map((agent) => [agent.agent_info.id.value, agent]));
    state.get_agents.agents = [...agents.values()];
    for (let i = 0; i < 30; i++) {
      const word = world.rng.pick(ALL_STATES), task = world.task(word);
      state.get_tasks[isOver(word) ? "completed_tasks" : isUnreachable(word) ? "unreachable_tasks" : "tasks"].push(task);
    }
    cluster.apply({ type: "SUBSCRIBED", subscribed: { get_state: state } });
    check(cluster, world);
    for (let step = 0; step < 300; step++) {
      const event = world.event();
      if (event) cluster.apply(event);
      if (step % 20 === 0) {
        check(cluster, world);
        checkLists(cluster, world.rng);
      }
    }
    check(cluster, world);
    // What the next subscription says replaces all.
    cluster.apply({ type: "SUBSCRIBED", subscribed: { get_state: {} } });
    assert.deepEqual([cluster.tasks.size, cluster.agents.size, cluster.frameworks.size], [0, 0, 0]);
    assert.deepEqual(ask(cluster, { ask: "summary" }).states, {});
  });

test("what is over is remembered as the master does", () => {
  const cluster = new Cluster();
  const add = (n, framework) => cluster.apply({ type: "TASK_ADDED", task_added: { task: {
    task_id: id(`T${n}`), framework_id: id(framework), agent_id: id("A"), state: "TASK_FINISHED", resources: [] } } });
  for (let n = 0; n < 1500; n++) add(n, "F");
  add(0, "G");
  assert.equal(cluster.tasks.size, 1001);
  assert.equal(cluster.counts.TASK_FINISHED, 1001);
  assert.ok(!cluster.tasks.has(keyOf("F", "T499")) && cluster.tasks.has(keyOf("F", "T500")) && cluster.tasks.has(keyOf("G", "T0")));
});

test("completed frameworks are forgotten with their tasks, the oldest first", () => {
  const cluster = new Cluster();
  for (let n = 0; n < 60; n++) {
    const framework_info = { id: id(`F${n}`), name: `f${n}` };
    cluster.apply({ type: "FRAMEWORK_ADDED", framework_added: { framework: { framework_info, active: true, connected: true } } });
    cluster.apply({ type: "TASK_ADDED", task_added: { task: { task_id: id("T"), framework_id: id(`F${n}`), agent_id: id("A"),
                                                             state: "TASK_KILLED", resources: [] } } });
    cluster.apply({ type: "FRAMEWORK_REMOVED", framework_removed: { framework_info } });
    cluster.frameworks.get(`F${n}`).unregistered = n + 1;
  }
  assert.equal(cluster.frameworks.size, 50);
  assert.equal(cluster.tasks.size, 50);
  assert.ok(!cluster.frameworks.has("F9") && cluster.frameworks.has("F10"));
});

test("a task: its history, its address, its executor", () => {
  const cluster = new Cluster();
  cluster.apply({ type: "AGENT_ADDED", agent_added: { agent: { agent_info: { id: id("A"), hostname: "h" }, total_resources: [] } } });
  cluster.apply({ type: "TASK_ADDED", task_added: { task: { task_id: id("T"), framework_id: id("F"), agent_id: id("A"), state: "TASK_STAGING",
    executor_id: id("E"), resources: [scalar("cpus", 1, { allocation_info: { role: "web" } })] } } });
  const say = (state, more) => cluster.apply({ type: "TASK_UPDATED", task_updated: { framework_id: id("F"), state,
    status: { task_id: id("T"), state, timestamp: 5, ...more } } });
  say("TASK_RUNNING", { container_status: { network_infos: [{ ip_addresses: [{ ip_address: "10.1.1.1" }] }] }, healthy: false });
  say("TASK_FAILED", { reason: "REASON_CONTAINER_LIMITATION_MEMORY", source: "SOURCE_AGENT", message: "too much" });
  const task = ask(cluster, { ask: "task", framework: "F", id: "T" });
  assert.deepEqual(task.statuses.map((s) => [s.state, s.time, s.reason, s.message, s.healthy]), [
    ["TASK_RUNNING", 5000, "", "", false], ["TASK_FAILED", 5000, "REASON_CONTAINER_LIMITATION_MEMORY", "too much", undefined]]);
  assert.deepEqual([task.ip, task.role, task.executor, task.ownExecutor, task.host, task.list],
    ["10.1.1.1", "web", "E", true, "h", "completed"]);
  assert.equal(ask(cluster, { ask: "task", framework: "F", id: "none" }), null);
});

test("who is away", () => {
  const cluster = new Cluster();
  cluster.apply({ type: "AGENT_ADDED", agent_added: { agent: { agent_info: { id: id("A"), hostname: "h" }, total_resources: [] } } });
  cluster.apply({ type: "FRAMEWORK_ADDED", framework_added: { framework: { framework_info: { id: id("F") }, active: true, connected: true } } });
  const words = () => [ask(cluster, { ask: "agent", id: "A" }).word, ask(cluster, { ask: "framework", id: "F" }).word];
  assert.deepEqual(words(), ["active", "active"]);
  const agent = { id: "A", active: false, connected: true, deactivated: true };
  const framework = { id: "F", active: false, connected: false, recovered: false, seconds_left: 30 };
  assert.equal(cluster.noteAway({ agents: [agent], frameworks: [framework] }), true);
  assert.deepEqual(words(), ["deactivated", "disconnected"]);
  assert.ok(Math.abs(cluster.frameworks.get("F").leaves - Date.now() - 30000) < 1000);
  assert.equal(cluster.noteAway({ agents: [agent], frameworks: [framework] }), false, "nothing is new");
  cluster.noteAway({ agents: [{ ...agent, drain_info: { state: "DRAINING", config: { mark_gone: true,
    max_grace_period: { nanoseconds: 5e9 } } }, estimated_drain_start_time_seconds: 7 }], frameworks: [{ ...framework, recovered: true }] });
  assert.deepEqual(words(), ["draining", "not back yet"]);
  assert.deepEqual(cluster.agents.get("A").drain, { state: "DRAINING", since: 7000, grace: 5000, gone: true });
  cluster.noteAway({ agents: [{ ...agent, deactivated: false, connected: false }], frameworks: [{ ...framework, connected: true }] });
  assert.deepEqual(words(), ["disconnected", "inactive"]);
  cluster.noteAway({ agents: [], frameworks: [] });
  assert.deepEqual(words(), ["active", "active"]);
  assert.equal(cluster.frameworks.get("F").leaves, 0);
});

test("executors count, until their agent or framework is gone", () => {
  const cluster = new Cluster();
  const executor = (agent, framework) => ({ agent_id: id(agent), executor_info: { executor_id: id("e"), framework_id: id(framework),
    resources: [scalar("cpus", 1)] } });
  cluster.begin({ get_executors: { executors: [executor("A", "F"), executor("B", "F"), executor("A", "G")] } });
  const used = () => [cluster.agentLoads.get("A").used.cpus, cluster.frameworkLoads.get("F").used.cpus];
  assert.deepEqual(used(), [2, 2]);
  cluster.apply({ type: "AGENT_REMOVED", agent_removed: { agent_id: id("A") } });
  assert.deepEqual(used(), [0, 1]);
  cluster.apply({ type: "FRAMEWORK_ADDED", framework_added: { framework: { framework_info: { id: id("F") } } } });
  cluster.apply({ type: "FRAMEWORK_REMOVED", framework_removed: { framework_info: { id: id("F") } } });
  assert.deepEqual(used(), [0, 0]);
});

test("the plot forgets what is older than ten minutes, and what is over", () => {
  const history = new History();
  for (let n = 0; n < 700; n++) history.note({ TASK_RUNNING: n, TASK_FINISHED: 5, TASK_STAGING: 0 }, n);
  assert.equal(history.samples.length, 600);
  assert.deepEqual(history.samples[0], { time: 100, states: { TASK_RUNNING: 100 } });
});
