// Roles: how the cluster is shared. The role with the least weighted dominant share gets the next
// offers, as far as its quota goes.

import { call, getJson, useLook } from "../lib/api.js";
import { useAsk } from "../lib/cluster.js";
import { RESOURCES, amount, percent, resource } from "../lib/words.js";
import { Bar, Facts, FrameworkLink, Problem, RoleLink, Waiting } from "../parts/basic.jsx";
import { Tasks } from "../parts/columns.jsx";
import { Act, Field } from "../parts/dialog.jsx";
import { Table } from "../parts/table.jsx";

const LOOK_MS = 3000;
const SHARED = ["cpus", "mem", "disk", "gpus"];

async function look() {
  const [roles, metrics] = await Promise.all([getJson("roles"), getJson("metrics/snapshot")]);
  return withShares(roles.roles, metrics);
}

// Of what all have that is not reserved for anybody; the resource of which the role has most.
function dominant(role, totals) {
  let most = { name: "", share: 0 };
  for (const name of SHARED) {
    const taken = role.resources[name] || 0;
    const share = totals[name] ? taken / totals[name] : 0;
    if (share > most.share) most = { name, share };
  }
  return most;
}

function withShares(roles, metrics) {
  const totals = Object.fromEntries(SHARED.map((name) => [name, metrics[`master/${name}_total`] || 0]));
  const rows = roles.map((role) => {
    const { name, share } = dominant(role, totals);
    // The allocator's own figure is by weight.
    const told = metrics[`allocator/mesos/roles/${role.name}/shares/dominant`];
    const weighted = told === undefined ? share / (role.weight || 1) : told;
    return { ...role, key: role.name, dominantName: name, share, weighted };
  });
  const wanting = rows.filter((role) => role.frameworks.length && !role.name.includes("/"))
    .sort((a, b) => a.weighted - b.weighted || a.name.localeCompare(b.name));
  wanting.forEach((role, index) => { role.turn = index + 1; });
  rows.sort((a, b) => (a.turn || 1e9) - (b.turn || 1e9) || a.name.localeCompare(b.name));
  return { roles: rows, totals };
}

const LABELS = Object.fromEntries(RESOURCES);

function Share({ role }) {
  return (
    <div className="meter">
      <Bar label={`Dominant share of ${role.name}`} total={1} text={percent(role.share)}
           parts={[{ name: "dominant share", value: role.share, kind: "used" }]} />
      <span>{percent(role.share)}{role.dominantName && ` (${LABELS[role.dominantName]})`}</span>
    </div>
  );
}

function Quota({ role }) {
  const { guarantee = {}, limit = {}, consumed = {} } = role.quota || {};
  const names = [...new Set([...Object.keys(guarantee), ...Object.keys(limit)])];
  if (!names.length) return <span className="none">none</span>;
  return names.map((name) => {
    const used = consumed[name] || 0, bound = limit[name], least = guarantee[name];
    const total = bound !== undefined ? bound : Math.max(least, used);
    const said = `${resource(name, used)} consumed${least !== undefined ? `, ${resource(name, least)} guaranteed` : ""}${bound !== undefined ? `, ${resource(name, bound)} at most` : ""}`;
    return (
      <div key={name} className="meter">
        <Bar label={`${name} quota of ${role.name}`} total={total} text={said} parts={[{ name: "consumed", value: used, kind: used > (bound ?? Infinity) ? "over" : "used" }]} />
        <span>{LABELS[name] || name}: {said}</span>
      </div>
    );
  });
}

const COLUMNS = [
  { key: "turn", name: "Next", kind: "number", cell: (r) => (r.turn ? `${r.turn}.` : "") },
  { key: "name", name: "Role", kind: "main", cell: (r) => <RoleLink role={r.name} /> },
  { key: "share", name: "Dominant share", cell: (r) => <Share role={r} /> },
  { key: "weight", name: "Weight", kind: "number", cell: (r) => amount(r.weight) },
  { key: "weighted", name: "Share by weight", kind: "number wide", cell: (r) => percent(r.weighted) },
  { key: "frameworks", name: "Frameworks", kind: "number", cell: (r) => r.frameworks.length },
  ...RESOURCES.slice(0, 2).map(([name, label]) => ({ key: name, name: label, kind: "number wide",
    cell: (r) => resource(name, r.resources[name] || 0) })),
  { key: "quota", name: "Quota", kind: "tall", cell: (r) => <Quota role={r} /> },
];

export function RolesView() {
  const { found, error, again } = useLook(look, "roles", LOOK_MS);
  return (
    <>
      <h1>Roles</h1>
      <p>A role’s dominant share is its part of the resource of which it has most. Who has least of it by
        weight is offered resources next, as far as its quota goes: the first in this list.</p>
      <div className="actions">
        <SetWeight done={again} /><SetQuota done={again} />
      </div>
      <Problem text={error} />
      {found ? <Table columns={COLUMNS} rows={found.roles} label="roles" empty="No framework has a role, and none has a quota or weight." /> : !error && <Waiting />}
    </>
  );
}

function SetWeight({ role, weight, done }) {
  const act = (values) => call("UPDATE_WEIGHTS", { update_weights: {
    weight_infos: [{ role: role || values.role, weight: Number(values.weight) }] } });
  return (
    <Act label="Set weight" title={role ? `Weight of ${role}` : "Weight of a role"} verb="Set the weight" act={act} done={done}
         touches={<p>From now on a role with weight 2 gets twice as much as one with weight 1. Offers that are out may be rescinded; tasks go on.</p>}>
      {!role && <Field label="Role" name="role" required />}
      <Field label="Weight" name="weight" type="number" min="0.001" step="any" required defaultValue={weight} />
    </Act>
  );
}

function SetQuota({ role, quota, done }) {
  const { guarantee = {}, limit = {} } = quota || {};
  const amounts = (values, kind) => Object.fromEntries(SHARED.filter((name) => values[`${kind}-${name}`])
    .map((name) => [name, { value: Number(values[`${kind}-${name}`]) }]));
  const act = (values) => call("UPDATE_QUOTA", { update_quota: { force: values.force === "yes", quota_configs: [{
    role: role || values.role, guarantees: amounts(values, "guarantee"), limits: amounts(values, "limit") }] } });
  return (
    <Act label="Set quota" title={role ? `Quota of ${role}` : "Quota of a role"} verb="Set the quota" act={act} done={done}
         touches={<p>What is guaranteed is kept for the role; beyond its limits it gets nothing more. Offers may be rescinded;
           tasks that run already go on. A role without any of these has no quota.</p>}>
      {!role && <Field label="Role" name="role" required />}
      <fieldset><legend>Guaranteed</legend>
        {RESOURCES.map(([name, label]) => <Field key={name} label={`${label}${name === "mem" || name === "disk" ? ", MB" : ""}`} name={`guarantee-${name}`} type="number" min="0" step="any" defaultValue={guarantee[name]} />)}
      </fieldset>
      <fieldset><legend>At most</legend>
        {RESOURCES.map(([name, label]) => <Field key={name} label={`${label}${name === "mem" || name === "disk" ? ", MB" : ""}`} name={`limit-${name}`} type="number" min="0" step="any" defaultValue={limit[name]} />)}
      </fieldset>
      <label className="check"><input type="checkbox" name="force" value="yes" /> Even if the cluster cannot guarantee it now</label>
    </Act>
  );
}

export function RoleView({ name }) {
  const { found, error, again } = useLook(look, "roles", LOOK_MS);
  const role = found && found.roles.find((r) => r.name === name);
  const framework = useAsk({ ask: "list", kind: "frameworks", count: 1000, where: { completed: false } });
  const nameOf = (id) => ((framework && framework.rows.find((f) => f.id === id)) || { name: id }).name;
  if (!found && !error) return <Waiting />;
  return (
    <>
      <h1>Role {name}</h1>
      <Problem text={error} />
      {role ? (
        <>
          <div className="actions">
            <SetWeight role={name} weight={role.weight} done={again} />
            <SetQuota role={name} quota={role.quota} done={again} />
          </div>
          <Facts facts={[
            ["Dominant share", <Share role={role} />],
            ["Weight", amount(role.weight)],
            ["Turn", role.turn ? `${role.turn}. of those that want offers` : ""],
            ["Quota", <Quota role={role} />],
            ["Frameworks", role.frameworks.map((id) => <span key={id} className="item"><FrameworkLink id={id}>{nameOf(id)}</FrameworkLink></span>)],
            ...["allocated", "offered", "reserved"].map((kind) => [kind[0].toUpperCase() + kind.slice(1),
              RESOURCES.filter(([key]) => (role[kind] || {})[key]).map(([key, label]) => `${label}: ${resource(key, role[kind][key])}`).join(", ")]),
          ]} />
        </>
      ) : <p>No framework has this role now, and it has no quota or weight.</p>}
      <section><h2>Tasks</h2><Tasks where={{ role: name }} without={["role"]} /></section>
    </>
  );
}
