// Offers, operations and volumes.

import { call, getJson, useLook } from "../lib/api.js";
import { RESOURCES, counted, megabytes, resource } from "../lib/words.js";
import { AgentLink, FrameworkLink, Id, Problem, RoleLink, Waiting } from "../parts/basic.jsx";
import { Search, Table } from "../parts/table.jsx";
import { useRoute } from "../lib/route.js";

const SHOWN_MAX = 500; // rows: the rest is found by searching

// Rows that hold all words of the search.
function useSearch(rows, text) {
  const route = useRoute();
  const words = (route.query.search || "").toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter((row) => words.every((word) => text(row).toLowerCase().includes(word)));
}

function Searched({ rows, text, columns, label, empty }) {
  const found = useSearch(rows, text);
  return (
    <>
      <div className="tools">
        <Search label={label} name="search" />
        <span role="status">{counted(found.length, label)}{found.length > SHOWN_MAX && `, ${SHOWN_MAX} of them shown`}</span>
      </div>
      <Table columns={columns} rows={found.slice(0, SHOWN_MAX)} label={label} empty={empty} />
    </>
  );
}

const amountColumns = (of) => RESOURCES.map(([name, label]) => ({ key: name, name: label, kind: "number",
  cell: (row) => (of(row)[name] ? resource(name, of(row)[name]) : "") }));

const OFFER_COLUMNS = [
  { key: "framework", name: "Framework", kind: "main", cell: (o) => <FrameworkLink id={o.framework_id}>{o.framework_name}</FrameworkLink> },
  { key: "role", name: "Role", cell: (o) => <RoleLink role={o.role} /> },
  { key: "host", name: "Agent", cell: (o) => <AgentLink id={o.slave_id}>{o.hostname}</AgentLink> },
  ...amountColumns((o) => o.resources),
  { key: "id", name: "ID", kind: "wide", cell: (o) => <Id id={o.id} /> },
];
const INVERSE_COLUMNS = OFFER_COLUMNS.filter((c) => ["framework", "host", "id"].includes(c.key));

export function OffersView() {
  const { found, error } = useLook(() => getJson("offers"), "offers", 2000);
  const text = (o) => `${o.framework_name} ${o.framework_id} ${o.role} ${o.hostname} ${o.slave_id} ${o.id}`;
  return (
    <>
      <h1>Offers</h1>
      <p>Resources that a framework may use now. While it decides, nobody else is offered them.</p>
      <Problem text={error} />
      {found ? (
        <>
          <Searched rows={found.offers.map((o) => ({ ...o, key: o.id }))} text={text} columns={OFFER_COLUMNS} label="offers"
                    empty="Nothing is offered now." />
          <h2>For maintenance</h2>
          <Table rows={found.inverse_offers.map((o) => ({ ...o, key: o.id }))} columns={INVERSE_COLUMNS} label="requests to leave agents"
                 empty="No framework is asked to leave an agent." />
        </>
      ) : !error && <Waiting />}
    </>
  );
}

const WORDS = { OPERATION_PENDING: "pending", OPERATION_FINISHED: "finished", OPERATION_FAILED: "failed",
  OPERATION_ERROR: "refused", OPERATION_DROPPED: "dropped", OPERATION_UNREACHABLE: "unreachable",
  OPERATION_GONE_BY_OPERATOR: "gone", OPERATION_RECOVERING: "recovering", OPERATION_UNKNOWN: "unknown" };
const lower = (name) => (name || "").toLowerCase().replace(/_/g, " ");
const operationState = (o) => (o.latest_status || {}).state || "";

const OPERATION_COLUMNS = [
  { key: "type", name: "Operation", kind: "main", cell: (o) => lower((o.info || {}).type) },
  { key: "state", name: "State", cell: (o) => <span className={`state ${operationState(o) === "OPERATION_FINISHED" ? "good" : operationState(o) === "OPERATION_PENDING" ? "busy" : "bad"}`}>{WORDS[operationState(o)] || operationState(o)}</span> },
  { key: "framework", name: "By", cell: (o) => (o.framework_id ? <FrameworkLink id={o.framework_id.value} /> : "an operator") },
  { key: "agent", name: "Agent", cell: (o) => (o.agent_id ? <AgentLink id={o.agent_id.value} /> : "") },
  { key: "message", name: "Message", kind: "wide", cell: (o) => (o.latest_status || {}).message || "" },
  { key: "id", name: "ID", kind: "wide", cell: (o) => (((o.info || {}).id || {}).value ? <Id id={o.info.id.value} /> : "") },
];

export function OperationsView() {
  const { found, error } = useLook(() => call("GET_OPERATIONS"), "operations", 3000);
  const rows = found ? (found.get_operations.operations || []).map((o) => ({ ...o, key: (o.uuid || {}).value })) : [];
  return (
    <>
      <h1>Operations</h1>
      <p>Changes of resources that are under way, or whose end nobody has acknowledged: reservations, volumes, disks.</p>
      <Problem text={error} />
      {found ? <Searched rows={rows} text={(o) => JSON.stringify(o)} columns={OPERATION_COLUMNS} label="operations" empty="There are none." />
        : !error && <Waiting />}
    </>
  );
}

const VOLUME_COLUMNS = [
  { key: "id", name: "Volume", kind: "main", cell: (v) => <code>{v.id}</code> },
  { key: "role", name: "Role", cell: (v) => <RoleLink role={v.role} /> },
  { key: "size", name: "Size", kind: "number", cell: (v) => megabytes(v.megabytes) },
  { key: "path", name: "Path in containers", cell: (v) => <code>{v.container_path}</code> },
  { key: "shared", name: "Shared", cell: (v) => (v.shared ? "yes" : "no") },
  { key: "host", name: "Agent", cell: (v) => <AgentLink id={v.slave_id}>{v.hostname}</AgentLink> },
  { key: "principal", name: "Made by", kind: "wide", cell: (v) => v.principal || "" },
];

export function VolumesView() {
  const { found, error } = useLook(() => getJson("volumes"), "volumes", 5000);
  const text = (v) => `${v.id} ${v.role} ${v.hostname} ${v.slave_id} ${v.principal || ""}`;
  return (
    <>
      <h1>Persistent volumes</h1>
      <p>Disk space that outlives tasks and frameworks, until it is destroyed.</p>
      <Problem text={error} />
      {found ? <Searched rows={found.volumes.map((v, i) => ({ ...v, key: `${v.slave_id} ${v.id} ${i}` }))} text={text} columns={VOLUME_COLUMNS}
                         label="volumes" empty="There are none." /> : !error && <Waiting />}
    </>
  );
}
