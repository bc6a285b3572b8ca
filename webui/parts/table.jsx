// Lists of things. A long one shows the rows that are in sight, and asks for no others: the worker
// sorts and searches.

import { useCallback, useEffect, useRef, useState } from "react";
import { useAsk } from "../lib/cluster.js";
import { counted } from "../lib/words.js";
import { refine, useRoute } from "../lib/route.js";

const ROW = 34;      // px, as style.css has it
const AROUND = 20;   // rows that are asked for beyond those in sight
const STEP = 20;     // the window begins at multiples of this

function Head({ columns, sort, down, onSort }) {
  return (
    <thead>
      <tr aria-rowindex="1">
        {columns.map((column) => (
          <th key={column.key} scope="col" className={column.kind}
              aria-sort={column.key === sort ? (down ? "descending" : "ascending") : undefined}>
            {column.sorts
              ? <button type="button" onClick={() => onSort(column.key)}>
                  {column.name}<span aria-hidden="true">{column.key === sort ? (down ? " ▼" : " ▲") : ""}</span>
                </button>
              : column.name}
          </th>
        ))}
      </tr>
    </thead>
  );
}

const Row = ({ columns, row, index }) => (
  <tr aria-rowindex={index}>
    {columns.map((column) => <td key={column.key} className={column.kind}>{column.cell(row)}</td>)}
  </tr>
);

// What it holds is in the page's address, below `name`.
export function Search({ label, name }) {
  const route = useRoute();
  return (
    <label className="search">
      <span className="hidden">Search {label}</span>
      <input type="search" placeholder={`Search ${label}`} defaultValue={route.query[name] || ""} key={name}
             onChange={(event) => refine(route, { [name]: event.target.value })} />
    </label>
  );
}

// A list of the worker's. `columns`: {key, name, cell, sorts, kind}. Search, order and what else
// narrows it are in the page's address, below `name` if several lists are on a page.
export function List({ kind, where, columns, sort: firstSort, down: firstDown, label, name = "", empty }) {
  const route = useRoute();
  const own = (key) => (name ? `${name}.${key}` : key);
  const search = route.query[own("search")] || "";
  const sort = route.query[own("sort")] || firstSort;
  const down = own("down") in route.query ? route.query[own("down")] === "1" : Boolean(firstDown);
  const box = useRef(null);
  const [view, setView] = useState({ first: 0, rows: 40 });
  const first = Math.max(0, Math.floor((view.first - AROUND) / STEP) * STEP);
  const answer = useAsk({ ask: "list", kind, where, search, sort, down, offset: first,
                          count: view.rows + 2 * AROUND + STEP });

  const look = useCallback(() => {
    const element = box.current;
    if (!element) return;
    const next = { first: Math.floor(element.scrollTop / ROW), rows: Math.ceil(element.clientHeight / ROW) };
    setView((before) => (before.first === next.first && before.rows === next.rows ? before : next));
  }, []);
  useEffect(() => {
    look();
    addEventListener("resize", look);
    return () => removeEventListener("resize", look);
  }, [look, answer === undefined]);
  useEffect(() => { if (box.current) box.current.scrollTop = 0; }, [search, sort, down, JSON.stringify(where)]);

  const onSort = (key) => refine(route, { [own("sort")]: key, [own("down")]: key === sort && !down ? "1" : "0" });
  const total = answer ? answer.total : 0, offset = answer ? answer.offset : 0;
  const rows = answer ? answer.rows : [];
  return (
    <div className="list">
      <div className="tools">
        <Search label={label} name={own("search")} />
        <span role="status">{answer ? counted(total, label) : "One moment…"}</span>
      </div>
      {answer && total === 0
        ? <p className="none">{search ? `No ${label} match.` : empty || `There are no ${label}.`}</p>
        : <div className={total > 12 ? "scroll tall" : "scroll"} ref={box} onScroll={look} tabIndex={0} role="region" aria-label={label}>
            <table aria-rowcount={total + 1} aria-label={label}>
              <Head columns={columns} sort={sort} down={down} onSort={onSort} />
              <tbody>
                {offset > 0 && <tr aria-hidden="true" style={{ height: offset * ROW }} />}
                {rows.map((row, index) => (
                  <Row key={row.key} columns={columns} row={row} index={offset + index + 2} />
                ))}
                {total > offset + rows.length &&
                  <tr aria-hidden="true" style={{ height: (total - offset - rows.length) * ROW }} />}
              </tbody>
            </table>
          </div>}
    </div>
  );
}

// A list that is all here, and short.
export function Table({ columns, rows, label, empty }) {
  if (!rows.length) return <p className="none">{empty || `There are no ${label}.`}</p>;
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label={label}>
      <table aria-label={label}>
        <Head columns={columns.map((column) => ({ ...column, sorts: false }))} />
        <tbody>
          {rows.map((row, index) => <Row key={row.key || index} columns={columns} row={row} index={index + 2} />)}
        </tbody>
      </table>
    </div>
  );
}
