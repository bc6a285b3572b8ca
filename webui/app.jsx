// The page: where it is, and what is shown there.

import { Component, useEffect, useRef, useState } from "react";
import { createRoot } from "react-dom/client";
import { signOut, useStatus } from "./lib/cluster.js";
import { session } from "./lib/session.js";
import { href, useRoute } from "./lib/route.js";
import { duration, zone } from "./lib/words.js";
import { AgentView, AgentsView } from "./views/agents.jsx";
import { AgentLogView, SandboxView } from "./views/files.jsx";
import { FrameworkView, FrameworksView } from "./views/frameworks.jsx";
import { MaintenanceView } from "./views/maintenance.jsx";
import { OffersView, OperationsView, VolumesView } from "./views/others.jsx";
import { Overview } from "./views/overview.jsx";
import { RoleView, RolesView } from "./views/roles.jsx";
import { SignIn } from "./views/signin.jsx";
import { TaskView, TasksView } from "./views/tasks.jsx";

const PLACES = [["", "Cluster"], ["tasks", "Tasks"], ["frameworks", "Frameworks"], ["agents", "Agents"],
                ["roles", "Roles"], ["offers", "Offers"], ["operations", "Operations"], ["volumes", "Volumes"],
                ["maintenance", "Maintenance"]];
// Which place of the navigation a thing belongs to.
const BELONGS = { task: "tasks", framework: "frameworks", agent: "agents", role: "roles" };

function view({ parts, query }) {
  const [place = "", ...rest] = parts;
  switch (place) {
    case "": return <Overview />;
    case "tasks": return <TasksView />;
    case "task": return rest[2] === "files"
      ? <SandboxView key={rest.slice(0, 2).join(" ")} framework={rest[0]} id={rest[1]} below={rest.slice(3)} file={Boolean(query.file)} />
      : <TaskView key={rest.join(" ")} framework={rest[0]} id={rest[1]} />;
    case "frameworks": return <FrameworksView />;
    case "framework": return <FrameworkView key={rest[0]} id={rest[0]} />;
    case "agents": return <AgentsView />;
    case "agent": return rest[1] === "log" ? <AgentLogView key={rest[0]} id={rest[0]} /> : <AgentView key={rest[0]} id={rest[0]} />;
    case "roles": return <RolesView />;
    case "role": return <RoleView key={rest.join("/")} name={rest.join("/")} />;
    case "offers": return <OffersView />;
    case "operations": return <OperationsView />;
    case "volumes": return <VolumesView />;
    case "maintenance": return <MaintenanceView />;
    default: return <><h1>Not here</h1><p>This page has no such place. <a href="#/">To the cluster</a></p></>;
  }
}

// A fault of one view leaves the others.
class Guard extends Component {
  state = { fault: null };
  static getDerivedStateFromError(fault) { return { fault }; }
  componentDidUpdate(before) {
    if (before.place !== this.props.place && this.state.fault) this.setState({ fault: null });
  }
  render() {
    return this.state.fault
      ? <p className="problem" role="alert">This view cannot be shown: {String(this.state.fault.message)}</p>
      : this.props.children;
  }
}

function Connection({ status }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  if (status.phase === "live") return <span className="live" role="status" title="Changes are shown as they happen.">live</span>;
  if (status.phase === "lost") return (
    <span className="lost" role="alert">No leading master: {status.why}. What is shown is {duration(Math.max(0, now - status.since))} old; looking for the next one…</span>
  );
  if (status.phase === "moved") return <span className="lost" role="status">Another master leads: going there…</span>;
  return <span className="lost" role="status">Connecting…</span>;
}

function Header({ status, place }) {
  return (
    <header>
      <a className="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById("main").focus(); }}>To the content</a>
      <a className="brand" href="#/">mesita</a>
      <nav aria-label="Places">
        {PLACES.map(([key, name]) => (
          <a key={key} href={href(key ? [key] : [])} aria-current={place === key ? "page" : undefined}>{name}</a>
        ))}
      </nav>
      <Connection status={status} />
      {session.authorization && (
        <button type="button" className="link" onClick={signOut}>Sign out{session.principal && ` ${session.principal}`}</button>
      )}
    </header>
  );
}

function Page() {
  const status = useStatus(), route = useRoute();
  const [seen, setSeen] = useState(false); // what was once shown stays while the master is away
  const main = useRef(null);
  const place = BELONGS[route.parts[0]] || route.parts[0] || "";
  const where = route.parts.join("/");
  useEffect(() => { if (status.phase === "live") setSeen(true); }, [status.phase]);
  useEffect(() => {
    const heading = main.current && main.current.querySelector("h1");
    document.title = `${heading && route.parts.length ? `${heading.textContent} – ` : ""}mesita`;
    scrollTo(0, 0);
  }, [where, seen]);
  if (status.phase === "sign-in") return <SignIn status={status} />;
  if (status.phase === "forbidden") return (
    <main className="signin"><h1>You may not see this cluster</h1><p>{status.why}</p>
      <button type="button" onClick={signOut}>Sign in as somebody else</button></main>
  );
  return (
    <>
      <Header status={status} place={place} />
      <main id="main" tabIndex={-1} ref={main}>
        {seen ? <Guard place={where}>{view(route)}</Guard> : <p className="waiting" role="status">Asking the master…</p>}
      </main>
      <footer>Times are in your zone, {zone()}.</footer>
    </>
  );
}

createRoot(document.getElementById("page")).render(<Page />);
