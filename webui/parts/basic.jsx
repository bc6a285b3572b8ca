// Small parts that many views use.

import { useEffect, useState } from "react";
import { amount, date, percent, since } from "../lib/words.js";
import { href } from "../lib/route.js";
import { isBad, isOver, stateMeaning, stateWord } from "../model/states.js";

export function State({ state }) {
  const kind = state === "TASK_RUNNING" ? "good" : isBad(state) ? "bad"
    : isOver(state) ? "over" : "busy";
  return <span className={`state ${kind}`} title={stateMeaning(state)}>{stateWord(state)}</span>;
}

const GOOD = ["active", "connected"];
const BUSY = ["draining", "drained", "deactivated", "inactive", "not back yet"];
export function Word({ word }) {
  const kind = GOOD.includes(word) ? "good" : BUSY.includes(word) ? "busy"
    : word === "completed" ? "over" : "bad";
  return <span className={`state ${kind}`}>{word}</span>;
}

// "3 minutes ago", with the time itself on demand.
export function When({ time }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 10000);
    return () => clearInterval(timer);
  }, []);
  return time ? <time dateTime={new Date(time).toISOString()} title={date(time)}>{since(time, Math.max(now, time))}</time>
    : <span className="none">–</span>;
}

// Parts of a total, side by side: [{name, value, kind}].
export function Bar({ label, parts, total, text }) {
  const said = parts.filter((part) => part.value > 0)
    .map((part) => `${part.name} ${percent(total ? part.value / total : 0)}`).join(", ");
  return (
    <div className="bar" role="img" aria-label={`${label}: ${text ? `${text}; ` : ""}${said || "nothing"}`}>
      {parts.map((part) => (
        <span key={part.name} className={part.kind} title={`${part.name}: ${amount(part.value)}`}
              style={{ width: `${total ? Math.min(100, (100 * part.value) / total) : 0}%` }} />
      ))}
    </div>
  );
}

export function Facts({ facts }) {
  return (
    <dl className="facts">
      {facts.filter(([, value]) => value !== "" && value !== null && value !== undefined && value !== false)
        .map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}
    </dl>
  );
}

export function Copy({ text }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch { // only pages that came by https have a clipboard
      const field = document.createElement("textarea");
      field.value = text;
      document.body.append(field);
      field.select();
      document.execCommand("copy");
      field.remove();
    }
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return (
    <button type="button" className="copy" onClick={copy} aria-label={`Copy ${text}`}>
      {done ? "copied" : "copy"}
    </button>
  );
}

export const Id = ({ id }) => <span className="id"><code>{id}</code> <Copy text={id} /></span>;

export const TaskLink = ({ framework, id, children }) =>
  <a href={href(["task", framework, id])}>{children || id}</a>;
export const AgentLink = ({ id, children }) => <a href={href(["agent", id])}>{children || id}</a>;
export const FrameworkLink = ({ id, children }) => <a href={href(["framework", id])}>{children || id}</a>;
export const RoleLink = ({ role }) => <a href={href(["role", role])}>{role}</a>;

// A page of another site that a framework names: only what a browser may be sent to.
export const Outside = ({ url, children }) =>
  (/^https?:\/\//i.test(url) ? <a href={url} rel="noopener noreferrer" target="_blank">{children || url}</a>
    : <>{children || url}</>);

export const Problem = ({ text }) => (text ? <p className="problem" role="alert">{text}</p> : null);
export const Waiting = () => <p className="waiting" role="status">One moment…</p>;
export const Missing = ({ what }) => (
  <section><h1>Not here</h1><p>The master knows no such {what}, or you may not see it. What was over
    long ago it has forgotten.</p></section>
);
