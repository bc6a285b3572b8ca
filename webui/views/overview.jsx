// The cluster at a glance.

import { useAsk } from "../lib/cluster.js";
import { getJson, useLook } from "../lib/api.js";
import { RESOURCES, amount, resource } from "../lib/words.js";
import { href } from "../lib/route.js";
import { ALL_STATES, stateMeaning } from "../model/states.js";
import { Bar, Facts, Problem, State, Waiting, When } from "../parts/basic.jsx";
import { Tasks } from "../parts/columns.jsx";
import { Plot } from "../parts/plot.jsx";

// Offered and used as the master's own metrics have them; the rest is the page's own count.
const lookAtMetrics = () => getJson("metrics/snapshot");

function Resources({ summary, metrics }) {
  return (
    <div className="cards">
      {RESOURCES.map(([name, label]) => {
        const total = summary.total[name];
        if (name === "gpus" && !total) return null;
        const used = metrics ? metrics[`master/${name}_used`] : summary.used[name];
        const taken = metrics ? metrics[`allocator/mesos/resources/${name}/offered_or_allocated`] || 0 : used;
        const offered = Math.max(0, taken - used);
        return (
          <section className="card" key={name} aria-label={label}>
            <h2>{label}</h2>
            <p className="big">{resource(name, used)} <small>of {resource(name, total)} used</small></p>
            <Bar label={label} total={total} parts={[
              { name: "used", value: used, kind: "used" }, { name: "offered", value: offered, kind: "offered" }]} />
            <p className="small">{resource(name, offered)} offered, {resource(name, Math.max(0, total - used - offered))} idle,{" "}
              {resource(name, summary.reserved[name])} reserved for roles</p>
          </section>
        );
      })}
    </div>
  );
}

const Counts = ({ title, counts, to }) => (
  <section className="card" aria-label={title}>
    <h2><a href={to}>{title}</a></h2>
    <p className="big">{amount(Object.values(counts).reduce((a, b) => a + b, 0))}</p>
    <p className="small">{Object.entries(counts).map(([word, count]) => `${amount(count)} ${word}`).join(", ") || "none"}</p>
  </section>
);

export function Overview() {
  const summary = useAsk({ ask: "summary" });
  const samples = useAsk({ ask: "history" }) || [];
  const { found: metrics, error } = useLook(lookAtMetrics, "metrics", 5000);
  const { found: version } = useLook(() => getJson("version"), "version", 0);
  if (!summary) return <Waiting />;
  const running = Object.fromEntries(Object.entries(summary.frameworks).filter(([word]) => word !== "completed"));
  return (
    <>
      <h1>Cluster</h1>
      <Problem text={error} />
      <Resources summary={summary} metrics={metrics} />
      <div className="cards">
        <Counts title="Agents" to={href(["agents"])} counts={{ ...summary.agents,
          ...(metrics && metrics["master/slaves_unreachable"] ? { unreachable: metrics["master/slaves_unreachable"] } : {}) }} />
        <Counts title="Frameworks" to={href(["frameworks"])} counts={running} />
        <section className="card wide" aria-label="Tasks">
          <h2><a href={href(["tasks"])}>Tasks</a></h2>
          <ul className="states">
            {ALL_STATES.filter((state) => summary.states[state]).map((state) => (
              <li key={state}><a href={href(["tasks"], { state })} title={stateMeaning(state)}>
                <State state={state} /> {amount(summary.states[state])}</a></li>
            ))}
            {!ALL_STATES.some((state) => summary.states[state]) && <li className="none">none yet</li>}
          </ul>
          <Plot samples={samples} />
        </section>
      </div>
      <section>
        <h2>Active tasks</h2>
        <Tasks where={{ list: "active" }} without={["why"]} label="active tasks" empty="No task runs." />
      </section>
      <section>
        <h2>The master</h2>
        <Facts facts={[
          ["Version", version && `mesita ${version.version}`],
          ["Leads since", metrics && <When time={Date.now() - (metrics["master/uptime_secs"] || 0) * 1000} />],
          ["Address", location.host],
          ["An allocation takes", metrics && metrics["allocator/mesos/allocation_run_ms/p50"] !== undefined &&
            `${amount(metrics["allocator/mesos/allocation_run_ms/p50"])} ms (median of the last hour)`],
        ]} />
      </section>
    </>
  );
}
