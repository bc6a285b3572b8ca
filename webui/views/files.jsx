// Sandboxes and logs: folders, and files that are followed as they grow. Everything comes by way of
// the master.

import { useEffect, useRef, useState } from "react";
import { browse, download, downloadUrl, readFile, sandboxPath, useLook } from "../lib/api.js";
import { session } from "../lib/session.js";
import { useAsk } from "../lib/cluster.js";
import { bytes } from "../lib/words.js";
import { href } from "../lib/route.js";
import { Missing, Problem, TaskLink, AgentLink, Waiting, When } from "../parts/basic.jsx";
import { Table } from "../parts/table.jsx";

const LOOK_MS = 1000;
const PART = 60000;            // bytes of a read; the agent gives 64 KiB at most
const KEPT = 1000000;          // characters that are shown; what is before is dropped

function Download({ agent, path, children }) {
  const [problem, setProblem] = useState("");
  const name = path.split("/").pop();
  if (!session.authorization) return <a href={downloadUrl(agent, path)} download={name}>{children}</a>;
  const get = () => download(agent, path).catch((error) => setProblem(error.message));
  return <><button type="button" className="link" onClick={get}>{children}</button>{problem && ` ${problem}`}</>;
}

const isFolder = (entry) => entry.mode.startsWith("d");

function Folder({ agent, path, to }) {
  const { found, error } = useLook(() => browse(agent, path), `${agent} ${path}`, 5000);
  const columns = [
    { key: "name", name: "Name", kind: "main", cell: (e) => <a href={to(e.path, isFolder(e))}>{e.path.split("/").pop()}{isFolder(e) && "/"}</a> },
    { key: "size", name: "Size", kind: "number", cell: (e) => (isFolder(e) ? "" : bytes(e.size)) },
    { key: "mtime", name: "Changed", cell: (e) => <When time={e.mtime * 1000} /> },
    { key: "mode", name: "Mode", kind: "wide", cell: (e) => <code>{e.mode}</code> },
    { key: "nlink", name: "Links", kind: "number wide", cell: (e) => e.nlink },
    { key: "uid", name: "User", kind: "wide", cell: (e) => e.uid },
    { key: "gid", name: "Group", kind: "wide", cell: (e) => e.gid },
    { key: "get", name: "Download", cell: (e) => (isFolder(e) ? "" : <Download agent={agent} path={e.path}>download</Download>) },
  ];
  return (
    <>
      <Problem text={error} />
      {found ? <Table columns={columns} rows={found.map((entry) => ({ ...entry, key: entry.path }))} label="files" empty="This folder is empty." />
        : !error && <Waiting />}
    </>
  );
}

// Reads from the end on, and goes on as the file grows.
function useTail(agent, path) {
  const [text, setText] = useState({ data: "", from: 0, size: 0 });
  const [problem, setProblem] = useState("");
  useEffect(() => {
    let over = false, timer = null, at = null;
    const turn = async () => {
      try {
        if (document.hidden) return;
        const { offset: size } = await readFile(agent, path, -1, 0);
        // At first, and if the file was written anew.
        if (at === null || size < at) {
          at = Math.max(0, size - PART);
          if (!over) setText({ data: "", from: at, size });
        }
        while (at < size && !over) {
          const length = Math.min(PART, size - at);
          const { data } = await readFile(agent, path, at, length);
          at += length;
          if (!over) setText((before) => ({ ...before, size: at, data: (before.data + data).slice(-KEPT) }));
        }
        if (!over) setProblem("");
      } catch (error) {
        if (!over) setProblem(error.message);
      } finally {
        if (!over) timer = setTimeout(turn, LOOK_MS);
      }
    };
    setText({ data: "", from: 0, size: 0 });
    turn();
    return () => { over = true; clearTimeout(timer); };
  }, [agent, path]);
  return { ...text, problem };
}

function File({ agent, path }) {
  const { data, from, size, problem } = useTail(agent, path);
  const [follows, setFollows] = useState(true);
  const box = useRef(null);
  useEffect(() => {
    if (follows && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [data, follows]);
  const scrolled = () => {
    const { scrollTop, scrollHeight, clientHeight } = box.current;
    setFollows(scrollHeight - scrollTop - clientHeight < 30);
  };
  return (
    <>
      <div className="tools">
        <label className="check"><input type="checkbox" checked={follows} onChange={(event) => setFollows(event.target.checked)} /> Follow</label>
        <span role="status">{bytes(size)}{from > 0 && `, shown from byte ${from} on`}</span>
        <Download agent={agent} path={path}>Download all</Download>
      </div>
      <Problem text={problem} />
      <pre className="file" ref={box} onScroll={scrolled} tabIndex={0} aria-label={path.split("/").pop()}>{data || (problem ? "" : "(empty)")}</pre>
    </>
  );
}

// What is below `root`, whose part `below` is shown.
function Files({ agent, root, below, file, here }) {
  const path = [root, ...below].join("/");
  const to = (target, folder) => href([...here, ...target.slice(root.length).split("/").filter(Boolean)], folder ? {} : { file: 1 });
  return (
    <>
      <nav className="crumbs" aria-label="Folders">
        <a href={href(here)}>sandbox</a>
        {below.map((name, index) => (
          <span key={index}> / {index < below.length - 1 || !file
            ? <a href={href([...here, ...below.slice(0, index + 1)])}>{name}</a> : name}</span>
        ))}
      </nav>
      {file ? <File agent={agent} path={path} /> : <Folder agent={agent} path={path} to={to} />}
    </>
  );
}

export function SandboxView({ framework, id, below, file }) {
  const task = useAsk({ ask: "task", framework, id });
  if (task === undefined) return <Waiting />;
  if (!task) return <Missing what="task" />;
  return (
    <>
      <h1>Sandbox of <TaskLink framework={framework} id={id}>{task.name}</TaskLink></h1>
      <p className="small">On <AgentLink id={task.agent}>{task.host || task.agent}</AgentLink>.
        It is kept for some time after the task has ended, while the disk has room.</p>
      <Files agent={task.agent} root={sandboxPath(framework, task.executor)} below={below} file={file}
             here={["task", framework, id, "files"]} />
    </>
  );
}

export function AgentLogView({ id }) {
  return (
    <>
      <h1>Log of agent <AgentLink id={id} /></h1>
      <File agent={id} path="/slave/log" />
    </>
  );
}
