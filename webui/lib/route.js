// Where the page is: the part of its address behind '#'. Each thing has one, so it can be sent to
// somebody: #/tasks?search=web, #/task/FRAMEWORK/TASK, #/agent/ID, ...

import { useEffect, useState } from "react";

function parse() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { parts: path.split("/").filter(Boolean).map(decodeURIComponent),
           query: Object.fromEntries(new URLSearchParams(query)) };
}

export function useRoute() {
  const [route, set] = useState(parse);
  useEffect(() => {
    const changed = () => set(parse());
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return route;
}

export function href(parts, query = {}) {
  const set = Object.entries(query).filter(([, value]) => value !== "" && value !== undefined && value !== null);
  return `#/${parts.map(encodeURIComponent).join("/")}` +
    (set.length ? `?${new URLSearchParams(set)}` : "");
}

// Changes the query of the present place; nothing of it goes to the history.
export function refine(route, more) {
  history.replaceState(null, "", href(route.parts, { ...route.query, ...more }));
  dispatchEvent(new HashChangeEvent("hashchange"));
}
