// Requests to the master. What fails is an Error with a message for people.

import { useCallback, useEffect, useState } from "react";
import { base, session } from "./session.js";

async function request(path, options = {}) {
  const headers = { Accept: "application/json", ...options.headers };
  if (session.authorization) headers.Authorization = session.authorization;
  let answer;
  try {
    answer = await fetch(new URL(path, base), { credentials: "omit", redirect: "manual", ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The master cannot be reached.");
  }
  if (answer.ok) return answer;
  if (answer.type === "opaqueredirect") throw new Error("Another master leads now.");
  const text = (await answer.text()).trim();
  const words = { 401: "Sign in to do this.", 403: "You may not do this.", 404: "There is no such thing." };
  const said = text && !/^\d{3} [A-Z][a-z ]+\.?$/.test(text) ? ` The master says: ${text}` : "";
  throw new Error((words[answer.status] || `The master refuses it (${answer.status}).`) + said);
}

export const getJson = async (path, options) => (await request(path, options)).json();

// A call of the operator API; its answer, or null if it has none.
export async function call(type, fields = {}) {
  const answer = await request("api/v1", {
    method: "POST", headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ type, ...fields }) });
  const text = await answer.text();
  return text ? JSON.parse(text) : null;
}

export const postForm = (path, fields) => request(path, {
  method: "POST", headers: { "Content-Type": "application/x-www-form-urlencoded" },
  body: new URLSearchParams(fields).toString() });

// Looks again every `ms` while the view is open and the page is seen. `look` is called again at once
// when `key` changes. Gives {found, error, again}.
export function useLook(look, key, ms) {
  const [state, setState] = useState({ found: null, error: null });
  const [round, setRound] = useState(0);
  const again = useCallback(() => setRound((n) => n + 1), []);
  useEffect(() => {
    let over = false, timer = null;
    const turn = async () => {
      if (!document.hidden) {
        try {
          const found = await look();
          if (!over) setState({ found, error: null });
        } catch (error) {
          if (!over) setState((before) => ({ found: before.found, error: error.message }));
        }
      }
      if (!over && ms) timer = setTimeout(turn, ms);
    };
    turn();
    return () => { over = true; clearTimeout(timer); };
  }, [key, ms, round]);
  return { ...state, again };
}

// ---- files of agents, by way of the master

export const sandboxPath = (framework, executor) =>
  `/frameworks/${framework}/executors/${executor}/runs/latest`;

const filesUrl = (agent, what, query) =>
  `agent/${encodeURIComponent(agent)}/files/${what}?${new URLSearchParams(query)}`;

export const browse = (agent, path) => getJson(filesUrl(agent, "browse", { path }));
export const readFile = (agent, path, offset, length) =>
  getJson(filesUrl(agent, "read", { path, offset, length }));
export const downloadUrl = (agent, path) => new URL(filesUrl(agent, "download", { path }), base).href;

// A link carries no name and secret: the file is fetched, and saved from here.
export async function download(agent, path) {
  const blob = await (await request(filesUrl(agent, "download", { path }))).blob();
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = path.split("/").pop();
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}
