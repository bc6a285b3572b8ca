// What the page knows of the cluster: the state of the subscription's beginning, changed by each
// event since. Objects are kept small and flat, since there may be 100,000 of them.

import { isOver, isUnreachable } from "./states.js";

const COMPLETED_TASKS_MAX = 1000; // of a framework, as the master keeps by default
const COMPLETED_FRAMEWORKS_MAX = 50;

const value = (id) => (id ? id.value : "");
// {nanoseconds} to milliseconds; 0 = never.
const time = (info) => (info && info.nanoseconds ? Number(info.nanoseconds) / 1e6 : 0);

export const AMOUNTS = ["cpus", "mem", "disk", "gpus"];
export const none = () => ({ cpus: 0, mem: 0, disk: 0, gpus: 0 });

export function addTo(sum, amounts, sign = 1) {
  for (const name of AMOUNTS) sum[name] += sign * amounts[name];
}

// Scalars of a list of resources; of all, or those that `picks` says.
export function amountsOf(resources, picks = () => true) {
  const sum = none();
  for (const r of resources || [])
    if (r.scalar && r.name in sum && picks(r)) sum[r.name] += r.scalar.value;
  return sum;
}

function roleOf(resources, fallback) {
  for (const r of resources || [])
    if (r.allocation_info && r.allocation_info.role) return r.allocation_info.role;
  return fallback;
}

function statusOf(status) {
  return {
    state: status.state,
    time: (status.timestamp || 0) * 1000,
    reason: status.reason || "",
    source: status.source || "",
    message: status.message || "",
    healthy: status.healthy,
  };
}

function address(statuses) {
  for (const status of [...statuses].reverse())
    for (const network of (status.container_status && status.container_status.network_infos) || [])
      for (const ip of network.ip_addresses || []) return ip.ip_address;
  return "";
}

export const keyOf = (framework, id) => `${framework} ${id}`;

function taskOf(task, list) {
  const statuses = task.statuses || [];
  const framework = value(task.framework_id), id = value(task.task_id);
  return {
    key: keyOf(framework, id),
    id,
    framework,
    name: task.name || id,
    agent: value(task.agent_id),
    executor: value(task.executor_id) || id,
    ownExecutor: Boolean(value(task.executor_id)),
    state: task.state,
    role: roleOf(task.resources, "*"),
    user: task.user || "",
    ...amountsOf(task.resources),
    labels: (task.labels && task.labels.labels) || [],
    statuses: statuses.map(statusOf),
    ip: address(statuses),
    list, // "active", "unreachable" or "completed"
  };
}

export class Cluster {
  constructor() {
    this.begin({});
  }

  begin(state) {
    this.agents = new Map();
    this.frameworks = new Map();
    this.tasks = new Map();
    this.executors = new Map();
    this.completedOf = new Map(); // framework -> keys of its completed tasks, oldest first
    this.counts = {};             // of tasks, by state
    this.agentLoads = new Map();  // what tasks and executors hold: id -> {used, tasks}
    this.frameworkLoads = new Map();
    const agents = state.get_agents || {}, frameworks = state.get_frameworks || {};
    const tasks = state.get_tasks || {}, executors = state.get_executors || {};
    for (const agent of agents.agents || []) this.addAgent(agent);
    this.recovered = (agents.recovered_agents || []).length;
    for (const f of frameworks.completed_frameworks || []) this.putFramework(f, true);
    for (const f of frameworks.frameworks || []) this.putFramework(f, false);
    for (const e of executors.executors || []) this.addExecutor(e);
    for (const task of tasks.completed_tasks || []) this.addTask(task, "completed");
    for (const task of tasks.unreachable_tasks || []) this.addTask(task, "unreachable");
    for (const task of tasks.tasks || []) this.addTask(task, "active");
  }

  apply(event) {
    switch (event.type) {
      case "SUBSCRIBED": return this.begin(event.subscribed.get_state || {});
      case "TASK_ADDED": return this.addTask(event.task_added.task, "active");
      case "TASK_UPDATED": return this.updateTask(event.task_updated);
      case "AGENT_ADDED": return this.addAgent(event.agent_added.agent);
      case "AGENT_REMOVED": return this.removeAgent(value(event.agent_removed.agent_id));
      case "FRAMEWORK_ADDED": return this.putFramework(event.framework_added.framework, false);
      case "FRAMEWORK_UPDATED": return this.putFramework(event.framework_updated.framework, false);
      case "FRAMEWORK_REMOVED": return this.removeFramework(event.framework_removed.framework_info);
      default: return undefined;
    }
  }

  // ---- agents

  addAgent(agent) {
    const info = agent.agent_info, id = value(info.id);
    this.agents.set(id, {
      id,
      host: info.hostname || "",
      port: info.port || 5051,
      pid: agent.pid || "",
      version: agent.version || "",
      active: agent.active !== false,
      deactivated: Boolean(agent.deactivated),
      drain: agent.drain_info ? { state: agent.drain_info.state } : null,
      registered: time(agent.registered_time),
      reregistered: time(agent.reregistered_time),
      attributes: info.attributes || [],
      domain: info.domain || null,
      capabilities: (agent.capabilities || []).map((c) => c.type),
      total: amountsOf(agent.total_resources),
      reserved: amountsOf(agent.total_resources, (r) => (r.reservations || []).length > 0 ||
        (r.role && r.role !== "*")),
      ports: (agent.total_resources || []).filter((r) => r.name === "ports" && r.ranges)
        .flatMap((r) => r.ranges.range || []),
      load: this.#loadOf(this.agentLoads, id),
    });
  }

  removeAgent(id) {
    this.agents.delete(id);
    for (const [key, executor] of this.executors)
      if (executor.agent === id) this.#dropExecutor(key, executor);
  }

  // What the master says of those that are not simply active, which no event tells; of the others
  // it says nothing. True: something is new.
  noteAway({ agents, frameworks }) {
    const changed = this.#noteAgents(new Map(agents.map((agent) => [agent.id, agent])));
    return this.#noteFrameworks(new Map(frameworks.map((f) => [f.id, f]))) || changed;
  }

  #noteFrameworks(said) {
    let changed = false;
    for (const framework of this.frameworks.values()) {
      if (framework.completed) continue;
      const word = said.get(framework.id);
      const active = !word || word.active, connected = !word || word.connected;
      const recovered = Boolean(word && word.recovered);
      const leaves = word && word.seconds_left !== undefined ? Date.now() + word.seconds_left * 1000 : 0;
      changed ||= active !== framework.active || connected !== framework.connected ||
        Boolean(leaves) !== Boolean(framework.leaves);
      Object.assign(framework, { active, connected, recovered, leaves });
    }
    return changed;
  }

  #noteAgents(said) {
    let changed = false;
    for (const agent of this.agents.values()) {
      const word = said.get(agent.id);
      const active = !word || word.active, deactivated = Boolean(word && word.deactivated);
      const drain = word && word.drain_info ? {
        state: word.drain_info.state,
        since: (word.estimated_drain_start_time_seconds || 0) * 1000,
        grace: word.drain_info.config && word.drain_info.config.max_grace_period
          ? Number(word.drain_info.config.max_grace_period.nanoseconds) / 1e6 : null,
        gone: Boolean(word.drain_info.config && word.drain_info.config.mark_gone),
      } : null;
      if (active === agent.active && deactivated === agent.deactivated &&
          JSON.stringify(drain) === JSON.stringify(agent.drain)) continue;
      Object.assign(agent, { active, deactivated, drain });
      changed = true;
    }
    return changed;
  }

  // ---- frameworks

  putFramework(framework, completed) {
    const info = framework.framework_info, id = value(info.id);
    this.frameworks.set(id, {
      id,
      name: info.name || "",
      user: info.user || "",
      principal: info.principal || "",
      host: info.hostname || "",
      url: info.webui_url || "",
      roles: info.roles && info.roles.length ? info.roles : [info.role || "*"],
      checkpoint: Boolean(info.checkpoint),
      capabilities: (info.capabilities || []).map((c) => c.type),
      failover: (info.failover_timeout || 0) * 1000,
      active: Boolean(framework.active),
      connected: Boolean(framework.connected),
      recovered: Boolean(framework.recovered),
      completed,
      registered: time(framework.registered_time),
      reregistered: time(framework.reregistered_time),
      unregistered: time(framework.unregistered_time),
      leaves: 0, // when it is removed, unless it comes back
      load: this.#loadOf(this.frameworkLoads, id),
    });
  }

  removeFramework(info) {
    const id = value(info.id), framework = this.frameworks.get(id);
    if (!framework) return;
    Object.assign(framework, { completed: true, active: false, connected: false,
                               unregistered: Date.now(), leaves: 0 });
    for (const [key, executor] of this.executors)
      if (executor.framework === id) this.#dropExecutor(key, executor);
    const over = [...this.frameworks.values()].filter((f) => f.completed);
    if (over.length <= COMPLETED_FRAMEWORKS_MAX) return;
    over.sort((a, b) => a.unregistered - b.unregistered);
    this.#forgetFramework(over[0].id);
  }

  #forgetFramework(id) {
    for (const [key, task] of this.tasks)
      if (task.framework === id) {
        this.#account(task, -1);
        this.tasks.delete(key);
      }
    this.completedOf.delete(id);
    this.frameworks.delete(id);
  }

  // ---- executors: the stream tells of them at its beginning alone

  addExecutor({ executor_info: info, agent_id: agent }) {
    const executor = { id: value(info.executor_id), framework: value(info.framework_id),
                       agent: value(agent), name: info.name || "", ...amountsOf(info.resources) };
    this.executors.set(`${executor.agent} ${executor.framework} ${executor.id}`, executor);
    this.#hold(executor, 1);
  }

  #dropExecutor(key, executor) {
    this.#hold(executor, -1);
    this.executors.delete(key);
  }

  #hold(thing, sign) {
    addTo(this.#loadOf(this.agentLoads, thing.agent).used, thing, sign);
    addTo(this.#loadOf(this.frameworkLoads, thing.framework).used, thing, sign);
  }

  // Of an agent or a framework, which may be heard of later than its tasks.
  #loadOf(loads, id) {
    let load = loads.get(id);
    if (!load) loads.set(id, load = { used: none(), tasks: 0 });
    return load;
  }

  // ---- tasks

  // What the task adds to counts and sums, or takes from them.
  #account(task, sign) {
    this.counts[task.state] = (this.counts[task.state] || 0) + sign;
    if (isOver(task.state) || isUnreachable(task.state)) return;
    this.#hold(task, sign);
    this.#loadOf(this.agentLoads, task.agent).tasks += sign;
    this.#loadOf(this.frameworkLoads, task.framework).tasks += sign;
  }

  addTask(message, list) {
    const task = taskOf(message, list);
    const before = this.tasks.get(task.key);
    if (before) this.#account(before, -1);
    this.tasks.set(task.key, task);
    this.#account(task, 1);
    if (isOver(task.state)) this.#complete(task);
  }

  updateTask({ framework_id: framework, status, state }) {
    const task = this.tasks.get(keyOf(value(framework), value(status.task_id)));
    if (!task) return;
    this.#account(task, -1);
    task.state = state || status.state;
    task.list = isOver(task.state) ? "completed" : isUnreachable(task.state) ? "unreachable"
      : "active";
    this.#account(task, 1);
    task.statuses.push(statusOf(status));
    task.ip = address([status]) || task.ip;
    if (isOver(task.state)) this.#complete(task);
  }

  #complete(task) {
    let keys = this.completedOf.get(task.framework);
    if (!keys) this.completedOf.set(task.framework, keys = new Set());
    task.list = "completed";
    keys.delete(task.key);
    keys.add(task.key);
    if (keys.size <= COMPLETED_TASKS_MAX) return;
    const [oldest] = keys;
    keys.delete(oldest);
    const gone = this.tasks.get(oldest);
    if (gone && isOver(gone.state)) {
      this.#account(gone, -1);
      this.tasks.delete(oldest);
    }
  }
}
