// Columns of lists that more than one view shows.

import { AgentLink, Bar, FrameworkLink, RoleLink, State, TaskLink, When, Word } from "./basic.jsx";
import { List } from "./table.jsx";
import { amount, megabytes, percent, reason, resource } from "../lib/words.js";
import { href } from "../lib/route.js";

const TASK_COLUMNS = [
  { key: "name", name: "Task", sorts: true, kind: "main",
    cell: (t) => <><TaskLink framework={t.framework} id={t.id}>{t.name}</TaskLink>{t.name !== t.id && <small> {t.id}</small>}</> },
  { key: "state", name: "State", sorts: true, cell: (t) => (
    <><State state={t.state} />{t.health === false && <span className="state bad">unhealthy</span>}</>) },
  { key: "framework", name: "Framework", sorts: true,
    cell: (t) => <FrameworkLink id={t.framework}>{t.frameworkName}</FrameworkLink> },
  { key: "host", name: "Agent", sorts: true, cell: (t) => <AgentLink id={t.agent}>{t.host || t.agent}</AgentLink> },
  { key: "role", name: "Role", sorts: true, kind: "wide", cell: (t) => <RoleLink role={t.role} /> },
  { key: "cpus", name: "CPUs", sorts: true, kind: "number wide", cell: (t) => amount(t.cpus) },
  { key: "mem", name: "Memory", sorts: true, kind: "number wide", cell: (t) => megabytes(t.mem) },
  { key: "changed", name: "Changed", sorts: true, cell: (t) => <When time={t.changed} /> },
  { key: "why", name: "Why", kind: "wide", cell: (t) => <span title={t.message}>{t.why ? reason(t.why) : t.message}</span> },
  { key: "sandbox", name: "Sandbox", cell: (t) => <a href={href(["task", t.framework, t.id, "files"])}
      aria-label={`Sandbox of ${t.name}`}>open</a> },
];

export function Tasks({ where, without = [], label = "tasks", ...rest }) {
  const columns = TASK_COLUMNS.filter((column) => !without.includes(column.key));
  return <List kind="tasks" where={where} columns={columns} sort="changed" down label={label} {...rest} />;
}

const share = (name) => ({
  key: name, name: { cpus: "CPUs", mem: "Memory", disk: "Disk" }[name], sorts: true,
  kind: name === "disk" ? "wide" : "", cell: (a) => (
    <div className="meter">
      <Bar label={name} total={a[name]} parts={[{ name: "used", value: a[`${name}Used`], kind: "used" }]}
           text={`${resource(name, a[`${name}Used`])} of ${resource(name, a[name])}`} />
      <span>{percent(a[name] ? a[`${name}Used`] / a[name] : 0)} of {resource(name, a[name])}</span>
    </div>) });

export const AGENT_COLUMNS = [
  { key: "host", name: "Host", sorts: true, kind: "main", cell: (a) => <AgentLink id={a.id}>{a.host}</AgentLink> },
  { key: "word", name: "State", sorts: true, cell: (a) => <Word word={a.word} /> },
  { key: "tasks", name: "Tasks", sorts: true, kind: "number", cell: (a) => amount(a.tasks) },
  share("cpus"), share("mem"), share("disk"),
  { key: "gpus", name: "GPUs", sorts: true, kind: "number wide", cell: (a) => amount(a.gpus) },
  { key: "registered", name: "Registered", sorts: true, kind: "wide", cell: (a) => <When time={a.registered} /> },
  { key: "id", name: "ID", kind: "wide", cell: (a) => <code>{a.id}</code> },
];

export const FRAMEWORK_COLUMNS = [
  { key: "name", name: "Framework", sorts: true, kind: "main", cell: (f) => <FrameworkLink id={f.id}>{f.name || f.id}</FrameworkLink> },
  { key: "word", name: "State", sorts: true, cell: (f) => <Word word={f.word} /> },
  { key: "tasks", name: "Tasks", sorts: true, kind: "number", cell: (f) => amount(f.tasks) },
  { key: "cpus", name: "CPUs", sorts: true, kind: "number", cell: (f) => amount(f.cpus) },
  { key: "mem", name: "Memory", sorts: true, kind: "number", cell: (f) => megabytes(f.mem) },
  { key: "roles", name: "Roles", kind: "wide", cell: (f) => f.roles.join(", ") },
  { key: "user", name: "User", sorts: true, kind: "wide", cell: (f) => f.user },
  { key: "principal", name: "Principal", kind: "wide", cell: (f) => f.principal },
  { key: "registered", name: "Registered", sorts: true, cell: (f) => <When time={f.registered} /> },
];
export const COMPLETED_COLUMNS = [...FRAMEWORK_COLUMNS.filter((c) => !["tasks", "cpus", "mem"].includes(c.key)),
  { key: "unregistered", name: "Ended", sorts: true, cell: (f) => <When time={f.unregistered} /> }];
