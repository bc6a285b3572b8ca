// All frameworks, and one of them.

import { useAsk } from "../lib/cluster.js";
import { postForm } from "../lib/api.js";
import { RESOURCES, counted, duration, resource } from "../lib/words.js";
import { Facts, Id, Missing, Outside, RoleLink, Waiting, When, Word } from "../parts/basic.jsx";
import { COMPLETED_COLUMNS, FRAMEWORK_COLUMNS, Tasks } from "../parts/columns.jsx";
import { Act } from "../parts/dialog.jsx";
import { List } from "../parts/table.jsx";

export function FrameworksView() {
  return (
    <>
      <h1>Frameworks</h1>
      <List kind="frameworks" where={{ completed: false }} columns={FRAMEWORK_COLUMNS} sort="name" label="frameworks"
            empty="No framework has subscribed." />
      <h2>Completed</h2>
      <List kind="frameworks" where={{ completed: true }} columns={COMPLETED_COLUMNS} sort="unregistered" down
            label="completed frameworks" name="completed" empty="None is remembered." />
    </>
  );
}

function Teardown({ framework }) {
  return (
    <Act label="Tear down" danger title={`Tear ${framework.name || framework.id} down?`} verb="Tear it down"
         touches={<p>The framework <b>{framework.name || framework.id}</b> ends for good: its {counted(framework.tasks, "tasks")}
           on {counted(framework.agents, "agents")} are killed, and it cannot subscribe with this ID again.</p>}
         act={() => postForm("teardown", { frameworkId: framework.id })} />
  );
}

function Away({ framework }) {
  if (framework.completed || framework.connected) return null;
  const left = framework.leaves - Date.now();
  return (
    <p className="notice">Its scheduler is not connected.{framework.leaves > 0 &&
      ` Unless it comes back, it is removed with its tasks ${left > 0 ? `in ${duration(left)}` : "any moment"}.`}</p>
  );
}

export function FrameworkView({ id }) {
  const framework = useAsk({ ask: "framework", id });
  if (framework === undefined) return <Waiting />;
  if (!framework) return <Missing what="framework" />;
  return (
    <>
      <h1>{framework.name || framework.id} <Word word={framework.word} /></h1>
      <Away framework={framework} />
      <div className="actions">{!framework.completed && <Teardown framework={framework} />}</div>
      <Facts facts={[
        ["ID", <Id id={framework.id} />],
        ["Web page", framework.url && <Outside url={framework.url} />],
        ["Host", framework.host],
        ["User", framework.user],
        ["Principal", framework.principal],
        ["Roles", framework.roles.map((role) => <span key={role} className="item"><RoleLink role={role} /></span>)],
        ["Failover timeout", framework.failover ? duration(framework.failover) : "none"],
        ["Checkpoints", framework.checkpoint ? "yes" : "no"],
        ["Capabilities", framework.capabilities.join(", ")],
        ["Registered", <When time={framework.registered} />],
        ["Registered again", framework.reregistered && framework.reregistered !== framework.registered
          ? <When time={framework.reregistered} /> : ""],
        ["Ended", framework.unregistered ? <When time={framework.unregistered} /> : ""],
        ...RESOURCES.map(([name, label]) => [`${label} used`, framework.used[name] > 1e-9 ? resource(name, framework.used[name]) : ""]),
      ]} />
      <section><h2>Active tasks</h2>
        <Tasks where={{ framework: id, list: "active" }} without={["framework", "why"]} label="active tasks" empty="No task of it runs." /></section>
      <section><h2>Unreachable tasks</h2>
        <Tasks where={{ framework: id, list: "unreachable" }} without={["framework"]} label="unreachable tasks" name="unreachable" empty="None." /></section>
      <section><h2>Completed tasks</h2>
        <Tasks where={{ framework: id, list: "completed" }} without={["framework"]} label="completed tasks" name="completed" empty="None is remembered." /></section>
    </>
  );
}
