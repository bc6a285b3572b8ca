// Maintenance: windows in which machines will be taken down, and agents that are being emptied.

import { call, useLook } from "../lib/api.js";
import { lookAgain } from "../lib/cluster.js";
import { date, duration } from "../lib/words.js";
import { AGENT_COLUMNS } from "../parts/columns.jsx";
import { FrameworkLink, Problem, Waiting, When } from "../parts/basic.jsx";
import { Act, Field } from "../parts/dialog.jsx";
import { List, Table } from "../parts/table.jsx";

const machineName = (id) => [id.hostname, id.ip].filter(Boolean).join(" / ");
const startOf = (window) => Number(window.unavailability.start.nanoseconds) / 1e6;
const lengthOf = (window) => (window.unavailability.duration ? Number(window.unavailability.duration.nanoseconds) / 1e6 : null);

async function look() {
  const [schedule, status] = await Promise.all([call("GET_MAINTENANCE_SCHEDULE"), call("GET_MAINTENANCE_STATUS")]);
  return { windows: schedule.get_maintenance_schedule.schedule.windows || [],
           draining: status.get_maintenance_status.status.draining_machines || [],
           down: status.get_maintenance_status.status.down_machines || [] };
}

// The schedule is set as a whole.
const schedule = (windows) => call("UPDATE_MAINTENANCE_SCHEDULE", {
  update_maintenance_schedule: { schedule: { windows } } });

function AddWindow({ windows, done }) {
  const act = ({ machines, start, hours }) => {
    const ids = machines.split(/[\s,]+/).filter(Boolean).map((name) =>
      (/^[0-9.]+$/.test(name) ? { ip: name } : { hostname: name }));
    return schedule([...windows, { machine_ids: ids, unavailability: {
      start: { nanoseconds: new Date(start).getTime() * 1000000 },
      ...(hours ? { duration: { nanoseconds: Math.round(Number(hours) * 3600e9) } } : {}) } }]);
  };
  return (
    <Act label="Plan a window" title="Plan a maintenance window" verb="Plan it" act={act} done={done}
         touches={<p>Frameworks with tasks on these machines are asked to leave them by then. Nothing is killed until the
           machines are taken down.</p>}>
      <Field label="Machines" name="machines" required hint="Host names or IP addresses of agents, separated by commas." />
      <Field label="Begins" name="start" type="datetime-local" required hint="In your time zone." />
      <Field label="Lasts, in hours" name="hours" type="number" min="0" step="any" hint="Empty: nobody knows." />
    </Act>
  );
}

function WindowActions({ window, windows, down, done }) {
  const names = window.machine_ids.map(machineName).join(", ");
  const isDown = window.machine_ids.every((id) => down.some((other) => machineName(other) === machineName(id)));
  if (isDown) return (
    <Act label="Bring up" title="Bring the machines up?" done={done} touches={<p>{names}: the agents may register again, and the machines leave the schedule.</p>}
         act={() => call("STOP_MAINTENANCE", { stop_maintenance: { machines: window.machine_ids } })} />
  );
  return (
    <>
      <Act label="Take down" danger title="Take the machines down?" done={done}
           touches={<p>{names}: their agents are removed now and their tasks are lost. They cannot register until the machines are brought up.</p>}
           act={() => call("START_MAINTENANCE", { start_maintenance: { machines: window.machine_ids } })} />
      <Act label="Cancel" title="Cancel the window?" verb="Cancel the window" done={done} touches={<p>{names}: frameworks are not asked to leave any more.</p>}
           act={() => schedule(windows.filter((other) => other !== window))} />
    </>
  );
}

export function MaintenanceView() {
  const { found, error, again } = useLook(look, "maintenance", 5000);
  const done = () => { again(); lookAgain(); };
  const columns = found && [
    { key: "machines", name: "Machines", kind: "main", cell: (w) => w.machine_ids.map(machineName).join(", ") },
    { key: "start", name: "Begins", cell: (w) => <>{date(startOf(w))} (<When time={startOf(w)} />)</> },
    { key: "length", name: "Lasts", cell: (w) => (lengthOf(w) === null ? "unknown" : duration(lengthOf(w))) },
    { key: "act", name: "Actions", kind: "tall", cell: (w) => <WindowActions window={w.window} windows={found.windows} down={found.down} done={done} /> },
  ];
  const answers = found ? found.draining.flatMap((machine) => (machine.statuses || []).map((status, index) => ({
    key: `${machineName(machine.id)} ${index}`, machine: machineName(machine.id), ...status }))) : [];
  return (
    <>
      <h1>Maintenance</h1>
      <Problem text={error} />
      {!found && !error && <Waiting />}
      {found && (
        <>
          <div className="actions"><AddWindow windows={found.windows} done={done} /></div>
          <Table columns={columns} rows={found.windows.map((window, index) => ({ ...window, window, key: String(index) }))}
                 label="maintenance windows" empty="No maintenance is planned." />
          <h2>What frameworks say</h2>
          <Table label="answers" rows={answers} empty="No framework has answered." columns={[
            { key: "machine", name: "Machine", kind: "main", cell: (s) => s.machine },
            { key: "framework", name: "Framework", cell: (s) => <FrameworkLink id={s.framework_id.value} /> },
            { key: "status", name: "Answer", cell: (s) => ({ ACCEPT: "it leaves", DECLINE: "it stays", UNKNOWN: "none yet" }[s.status] || s.status) },
            { key: "time", name: "When", cell: (s) => <When time={s.timestamp ? Number(s.timestamp.nanoseconds) / 1e6 : 0} /> },
          ]} />
          <h2>Machines that are down</h2>
          <Table label="machines" rows={found.down.map((id) => ({ ...id, key: machineName(id) }))} empty="None." columns={[
            { key: "name", name: "Machine", kind: "main", cell: (id) => machineName(id) }]} />
        </>
      )}
      <h2>Agents that are being emptied</h2>
      <List kind="agents" where={{ word: "draining" }} columns={AGENT_COLUMNS} sort="host" label="draining agents" name="draining" empty="No agent drains." />
      <h2>Agents that are drained</h2>
      <List kind="agents" where={{ word: "drained" }} columns={AGENT_COLUMNS} sort="host" label="drained agents" name="drained" empty="No agent is drained." />
    </>
  );
}
