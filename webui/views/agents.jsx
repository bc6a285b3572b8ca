// All agents, and one of them.

import { lookAgain, useAsk } from "../lib/cluster.js";
import { call, getJson, useLook } from "../lib/api.js";
import { RESOURCES, counted, duration, resource } from "../lib/words.js";
import { href, refine, useRoute } from "../lib/route.js";
import { attributeText } from "../model/query.js";
import { Bar, Facts, Id, Missing, Problem, RoleLink, Waiting, When, Word } from "../parts/basic.jsx";
import { AGENT_COLUMNS, Tasks } from "../parts/columns.jsx";
import { Act, Check, Field } from "../parts/dialog.jsx";
import { List, Table } from "../parts/table.jsx";

const WORDS = ["active", "disconnected", "deactivated", "draining", "drained"];

export function AgentsView() {
  const route = useRoute();
  const word = route.query.state || "";
  return (
    <>
      <h1>Agents</h1>
      <div className="filters">
        <label>State <select value={word} onChange={(event) => refine(route, { state: event.target.value })}>
          <option value="">any</option>
          {WORDS.map((name) => <option key={name}>{name}</option>)}
        </select></label>
      </div>
      <List kind="agents" where={{ word }} columns={AGENT_COLUMNS} sort="host" label="agents"
            empty="No agent has registered. Start one with: mesita agent --master=…" />
    </>
  );
}

function Drain({ agent, again }) {
  const tasks = counted(agent.tasks, "tasks");
  const drain = ({ grace, gone }) => call("DRAIN_AGENT", { drain_agent: {
    agent_id: { value: agent.id }, mark_gone: gone === "yes",
    ...(grace ? { max_grace_period: { seconds: Number(grace) } } : {}) } });
  return (
    <Act label="Drain" danger title={`Drain ${agent.host}?`} verb="Drain the agent" act={drain} done={again}
         touches={<p>The {tasks} on this agent are killed, each within its grace period, and it gets no
           more offers until it is reactivated.</p>}>
      <Field label="Greatest grace period, in seconds" name="grace" type="number" min="0" step="1"
             hint="Empty: what each task asks for." />
      <Check name="gone" label="Then declare the agent to be gone. That cannot be undone." />
    </Act>
  );
}

function Actions({ agent, again }) {
  const id = { agent_id: { value: agent.id } };
  const idle = agent.deactivated || agent.drain;
  return (
    <div className="actions">
      <a className="button" href={href(["agent", agent.id, "log"])}>Log</a>
      {!agent.drain && <Drain agent={agent} again={again} />}
      {!idle && <Act label="Deactivate" title={`Deactivate ${agent.host}?`} done={again}
        touches={<p>The agent gets no more offers until it is reactivated. Its {counted(agent.tasks, "tasks")} go on.</p>}
        act={() => call("DEACTIVATE_AGENT", { deactivate_agent: id })} />}
      {idle && <Act label="Reactivate" title={`Reactivate ${agent.host}?`} done={again}
        touches={<p>Draining ends, and what the agent has is offered again.</p>}
        act={() => call("REACTIVATE_AGENT", { reactivate_agent: id })} />}
    </div>
  );
}

function Draining({ drain }) {
  const left = drain.since && drain.grace !== null ? drain.since + drain.grace - Date.now() : null;
  if (drain.state === "DRAINED") return <p className="notice">This agent is drained: nothing runs on it.{drain.gone && " It is to be declared gone."}</p>;
  return (
    <p className="notice">This agent is being drained{drain.since > 0 && <>, since <When time={drain.since} /></>}.
      {left !== null && (left > 0 ? ` At most ${duration(left)} are left.` : " Its grace period is over.")}
      {drain.gone && " It will be declared gone then."}</p>
  );
}

// What it has and what of that is in whose hands, as the master says now.
function Holdings({ now }) {
  const columns = [
    { key: "name", name: "Resource", kind: "main", cell: (r) => r.label },
    { key: "total", name: "Total", kind: "number", cell: (r) => r.total },
    { key: "used", name: "Used", kind: "number", cell: (r) => r.used },
    { key: "offered", name: "Offered", kind: "number", cell: (r) => r.offered },
    { key: "bar", name: "Shares", kind: "wide", cell: (r) => r.bar },
  ];
  const rows = RESOURCES.filter(([name]) => now.resources[name]).map(([name, label]) => {
    const total = now.resources[name], used = now.used_resources[name] || 0, offered = now.offered_resources[name] || 0;
    return { key: name, label, total: resource(name, total), used: resource(name, used), offered: resource(name, offered),
             bar: <Bar label={label} total={total} parts={[{ name: "used", value: used, kind: "used" },
               { name: "offered", value: offered, kind: "offered" }]} /> };
  });
  return <Table columns={columns} rows={rows} label="resources of the agent" />;
}

function Reservations({ now }) {
  const columns = [
    { key: "role", name: "Role", kind: "main", cell: (r) => <RoleLink role={r.key} /> },
    ...RESOURCES.map(([name, label]) => ({ key: name, name: label, kind: "number", cell: (r) => (r[name] ? resource(name, r[name]) : "") })),
  ];
  const rows = Object.entries(now.reserved_resources).map(([role, amounts]) => ({ ...amounts, key: role }));
  return <Table columns={columns} rows={rows} label="reservations" empty="Nothing here is reserved." />;
}

export function AgentView({ id }) {
  const agent = useAsk({ ask: "agent", id });
  const { found, error, again } = useLook(() => getJson(`slaves?${new URLSearchParams({ slave_id: id })}`), id, 5000);
  if (agent === undefined) return <Waiting />;
  if (!agent) return <Missing what="agent" />;
  const now = found && found.slaves[0];
  const done = () => { again(); lookAgain(); };
  const domain = agent.domain && agent.domain.fault_domain;
  return (
    <>
      <h1>{agent.host} <Word word={agent.word} /></h1>
      {agent.drain && <Draining drain={agent.drain} />}
      <Actions agent={agent} again={done} />
      <Problem text={error} />
      <Facts facts={[
        ["ID", <Id id={agent.id} />],
        ["Address", agent.pid.split("@")[1] || `${agent.host}:${agent.port}`],
        ["Version", agent.version],
        ["Registered", <When time={agent.registered} />],
        ["Registered again", agent.reregistered ? <When time={agent.reregistered} /> : ""],
        ["Region and zone", domain && `${domain.region.name} / ${domain.zone.name}`],
        ["Attributes", agent.attributes.map((a) => `${a.name}: ${attributeText(a)}`).join(", ")],
        ["Ports", agent.ports.map((r) => `${r.begin}–${r.end}`).join(", ")],
      ]} />
      <section><h2>Resources</h2>{now ? <Holdings now={now} /> : <Waiting />}</section>
      <section><h2>Reservations</h2>{now && <Reservations now={now} />}</section>
      <section><h2>Active tasks</h2>
        <Tasks where={{ agent: id, list: "active" }} without={["host", "why"]} label="active tasks" empty="No task runs here." /></section>
      <section><h2>Earlier tasks</h2>
        <Tasks where={{ agent: id, list: "completed" }} without={["host"]} label="earlier tasks" name="earlier" empty="None is remembered." /></section>
    </>
  );
}
