// Questions that views ask of the cluster: a window of a list, or one thing with what belongs to it.
// An answer holds plain objects, which go to the page by structured clone.

import { AMOUNTS, addTo, keyOf, none } from "./cluster.js";
import { stateOrder, stateWord } from "./states.js";

const startOf = (task) => {
  const first = task.statuses.find((s) => s.state === "TASK_RUNNING") || task.statuses[0];
  return first ? first.time : 0;
};
const lastOf = (task) => {
  const last = task.statuses[task.statuses.length - 1];
  return last ? last.time : 0;
};

function agentWord(agent) {
  if (agent.drain) return agent.drain.state === "DRAINED" ? "drained" : "draining";
  if (agent.deactivated) return "deactivated";
  return agent.active ? "active" : "disconnected";
}

function frameworkWord(framework) {
  if (framework.completed) return "completed";
  if (!framework.connected) return framework.recovered ? "not back yet" : "disconnected";
  return framework.active ? "active" : "inactive";
}

// ---- rows: what a list shows of a thing. `text` is what is searched.

function taskRow(cluster, task) {
  const agent = cluster.agents.get(task.agent), framework = cluster.frameworks.get(task.framework);
  const last = task.statuses[task.statuses.length - 1];
  return {
    key: task.key, id: task.id, name: task.name, framework: task.framework,
    frameworkName: framework ? framework.name : task.framework,
    agent: task.agent, host: agent ? agent.host : "", state: task.state, role: task.role,
    cpus: task.cpus, mem: task.mem, disk: task.disk, gpus: task.gpus, started: startOf(task),
    changed: lastOf(task), health: last && last.healthy !== undefined ? last.healthy : null,
    why: last ? last.reason : "", message: last ? last.message : "",
  };
}

function agentRow(cluster, agent) {
  const row = { key: agent.id, id: agent.id, host: agent.host, word: agentWord(agent),
                tasks: agent.load.tasks, registered: agent.registered,
                reregistered: agent.reregistered, version: agent.version };
  for (const name of AMOUNTS) {
    row[name] = agent.total[name];
    row[`${name}Used`] = agent.load.used[name];
  }
  return row;
}

function frameworkRow(cluster, f) {
  return { key: f.id, id: f.id, name: f.name, user: f.user, principal: f.principal, host: f.host,
           roles: f.roles, word: frameworkWord(f), completed: f.completed, tasks: f.load.tasks,
           ...f.load.used, registered: f.registered, unregistered: f.unregistered, url: f.url };
}

const LISTS = {
  tasks: {
    all: (c) => c.tasks, row: taskRow,
    // Sorted by what needs no row, where that can be: there are many.
    sorts: { name: (t) => t.name, state: (t) => stateOrder(t.state), started: startOf,
             changed: lastOf, cpus: (t) => t.cpus, mem: (t) => t.mem, role: (t) => t.role,
             framework: (t, c) => (c.frameworks.get(t.framework) || t).name || "",
             host: (t, c) => (c.agents.get(t.agent) || { host: "" }).host },
    text: (t, c) => `${t.id}\n${t.name}\n${stateWord(t.state)}\n${t.state}\n${t.role}\n` +
      `${(c.agents.get(t.agent) || { host: "" }).host}\n${t.agent}\n` +
      `${(c.frameworks.get(t.framework) || { name: "" }).name}\n${t.framework}\n${t.ip}`,
    where: (t, where) => (!where.list || t.list === where.list) &&
      (!where.state || t.state === where.state) &&
      (!where.framework || t.framework === where.framework) &&
      (!where.agent || t.agent === where.agent) && (!where.role || t.role === where.role),
  },
  agents: {
    all: (c) => c.agents, row: agentRow,
    sorts: { host: (a) => a.host, word: agentWord, tasks: (a) => a.load.tasks,
             cpus: (a) => ratio(a, "cpus"), mem: (a) => ratio(a, "mem"),
             disk: (a) => ratio(a, "disk"), gpus: (a) => a.total.gpus,
             registered: (a) => a.registered },
    text: (a) => `${a.id}\n${a.host}\n${a.pid}\n${agentWord(a)}\n${a.version}\n` +
      a.attributes.map((x) => `${x.name}:${attributeText(x)}`).join("\n"),
    where: (a, where) => !where.word || agentWord(a) === where.word,
  },
  frameworks: {
    all: (c) => c.frameworks, row: frameworkRow,
    sorts: { name: (f) => f.name, user: (f) => f.user, word: frameworkWord,
             tasks: (f) => f.load.tasks, cpus: (f) => f.load.used.cpus, mem: (f) => f.load.used.mem,
             disk: (f) => f.load.used.disk, gpus: (f) => f.load.used.gpus,
             registered: (f) => f.registered, unregistered: (f) => f.unregistered },
    text: (f) => `${f.id}\n${f.name}\n${f.user}\n${f.principal}\n${f.host}\n${f.roles.join("\n")}\n` +
      frameworkWord(f),
    where: (f, where) => where.completed === undefined || f.completed === where.completed,
  },
};

const ratio = (agent, name) => (agent.total[name] ? agent.load.used[name] / agent.total[name] : 0);

export function attributeText(attribute) {
  if (attribute.scalar) return String(attribute.scalar.value);
  if (attribute.text) return attribute.text.value;
  const ranges = (attribute.ranges && attribute.ranges.range) || [];
  return ranges.map((r) => `${r.begin}-${r.end}`).join(", ") ||
    ((attribute.set && attribute.set.item) || []).join(", ");
}

const collator = new Intl.Collator("en", { numeric: true });

function sortBy(things, sort, down, cluster) {
  const keyed = things.map((thing) => [sort(thing, cluster), thing]);
  const order = keyed.length && typeof keyed[0][0] === "string"
    ? (a, b) => collator.compare(a[0], b[0]) : (a, b) => a[0] - b[0];
  keyed.sort(down ? (a, b) => order(b, a) : order);
  return keyed.map(([, thing]) => thing);
}

function list(cluster, { kind, where = {}, search = "", sort, down, offset = 0, count = 50 }) {
  const about = LISTS[kind];
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  let found = [];
  for (const thing of about.all(cluster).values()) {
    if (!about.where(thing, where)) continue;
    if (words.length) {
      const text = about.text(thing, cluster).toLowerCase();
      if (!words.every((word) => text.includes(word))) continue;
    }
    found.push(thing);
  }
  if (about.sorts[sort]) found = sortBy(found, about.sorts[sort], down, cluster);
  return { total: found.length, offset,
           rows: found.slice(offset, offset + count).map((thing) => about.row(cluster, thing)) };
}

function summary(cluster) {
  const total = none(), reserved = none(), used = none(), agents = {};
  for (const agent of cluster.agents.values()) {
    addTo(total, agent.total);
    addTo(reserved, agent.reserved);
    addTo(used, agent.load.used);
    agents[agentWord(agent)] = (agents[agentWord(agent)] || 0) + 1;
  }
  const frameworks = {};
  for (const f of cluster.frameworks.values())
    frameworks[frameworkWord(f)] = (frameworks[frameworkWord(f)] || 0) + 1;
  return { total, reserved, used, agents, frameworks, recovered: cluster.recovered,
           states: { ...cluster.counts } };
}

function task(cluster, { framework, id }) {
  const found = cluster.tasks.get(keyOf(framework, id));
  if (!found) return null;
  const agent = cluster.agents.get(found.agent), f = cluster.frameworks.get(framework);
  return { ...found, host: agent ? agent.host : "", agentHere: Boolean(agent),
           frameworkName: f ? f.name : framework };
}

function agent(cluster, { id }) {
  const found = cluster.agents.get(id);
  return found ? { ...found, used: found.load.used, tasks: found.load.tasks, word: agentWord(found) }
    : null;
}

function framework(cluster, { id }) {
  const found = cluster.frameworks.get(id);
  if (!found) return null;
  const agents = new Set();
  for (const t of cluster.tasks.values())
    if (t.framework === id && t.list === "active") agents.add(t.agent);
  return { ...found, used: found.load.used, tasks: found.load.tasks, word: frameworkWord(found),
           agents: agents.size };
}

export function ask(cluster, query) {
  const kinds = { list, summary, task, agent, framework };
  return kinds[query.ask](cluster, query);
}
