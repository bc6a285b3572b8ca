// All tasks, and one of them.

import { useAsk } from "../lib/cluster.js";
import { postForm } from "../lib/api.js";
import { RESOURCES, date, reason, resource, source } from "../lib/words.js";
import { href, refine, useRoute } from "../lib/route.js";
import { ALL_STATES, isOver, stateMeaning, stateWord } from "../model/states.js";
import { AgentLink, Facts, FrameworkLink, Id, Missing, RoleLink, State, Waiting, When } from "../parts/basic.jsx";
import { Tasks } from "../parts/columns.jsx";
import { Act } from "../parts/dialog.jsx";

export function TasksView() {
  const route = useRoute();
  const state = route.query.state || "", list = route.query.list || "";
  return (
    <>
      <h1>Tasks</h1>
      <div className="filters">
        <label>State <select value={state} onChange={(event) => refine(route, { state: event.target.value })}>
          <option value="">any</option>
          {ALL_STATES.map((name) => <option key={name} value={name}>{stateWord(name)} ({name.slice(5)})</option>)}
        </select></label>
        <label>Which <select value={list} onChange={(event) => refine(route, { list: event.target.value })}>
          <option value="">all</option>
          <option value="active">active</option>
          <option value="unreachable">unreachable</option>
          <option value="completed">completed</option>
        </select></label>
      </div>
      <Tasks where={{ state, list }} />
    </>
  );
}

function History({ statuses }) {
  return (
    <ol className="history" aria-label="Status history">
      {[...statuses].reverse().map((status, index) => (
        <li key={statuses.length - index}>
          <State state={status.state} /> <time dateTime={new Date(status.time).toISOString()}>{date(status.time)}</time>
          {status.source && <span className="small"> said by {source(status.source)}</span>}
          {status.healthy !== undefined && <span className={`state ${status.healthy ? "good" : "bad"}`}>{status.healthy ? "healthy" : "unhealthy"}</span>}
          {status.reason && <p>{reason(status.reason)} <code className="small">{status.reason}</code></p>}
          {status.message && <p className="message">{status.message}</p>}
        </li>
      ))}
    </ol>
  );
}

export function Kill({ task }) {
  return (
    <Act label="Kill" danger title={`Kill ${task.name}?`} verb="Kill the task"
         touches={<p>Its agent ends the task <b>{task.name}</b> on {task.host || task.agent}, after its grace period.
           Its framework, {task.frameworkName}, is told, and may start another one.</p>}
         act={() => postForm("kill-task", { frameworkId: task.framework, taskId: task.id })} />
  );
}

export function TaskView({ framework, id }) {
  const task = useAsk({ ask: "task", framework, id });
  if (task === undefined) return <Waiting />;
  if (!task) return <Missing what="task" />;
  return (
    <>
      <h1>{task.name} <State state={task.state} /></h1>
      <p className="meaning">{stateMeaning(task.state)}.</p>
      <div className="actions">
        <a className="button" href={href(["task", framework, id, "files"])}>Sandbox</a>
        {!isOver(task.state) && <Kill task={task} />}
      </div>
      <Facts facts={[
        ["ID", <Id id={task.id} />],
        ["Framework", <FrameworkLink id={framework}>{task.frameworkName}</FrameworkLink>],
        ["Agent", <AgentLink id={task.agent}>{task.host || task.agent}</AgentLink>],
        ["Address", task.ip],
        ["Role", <RoleLink role={task.role} />],
        ["User", task.user],
        ["Executor", task.ownExecutor && task.executor],
        ...RESOURCES.map(([name, label]) => [label, task[name] ? resource(name, task[name]) : ""]),
        ["Labels", task.labels.map((label) => `${label.key}=${label.value || ""}`).join(", ")],
        ["Last change", <When time={task.statuses.length ? task.statuses[task.statuses.length - 1].time : 0} />],
      ]} />
      <section>
        <h2>What became of it</h2>
        {task.statuses.length ? <History statuses={task.statuses} /> : <p className="none">Nothing was said of it yet.</p>}
      </section>
    </>
  );
}
