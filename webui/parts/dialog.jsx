// Asking before something is done, and doing it.

import { useEffect, useRef, useState } from "react";
import { Problem } from "./basic.jsx";

// A button that asks first. `touches` says in words what will happen; `children` are fields, whose
// values `act` gets; `act` does it, and throws what is to be said if it fails.
export function Act({ label, title, touches, verb, act, done, danger, disabled, children }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" className={danger ? "danger" : ""} disabled={disabled} onClick={() => setOpen(true)}>{label}</button>
      {open && <Dialog {...{ title: title || label, touches, verb: verb || label, act, done, danger, children }}
                       close={() => setOpen(false)} />}
    </>
  );
}

function Dialog({ title, touches, verb, act, done, danger, children, close }) {
  const element = useRef(null);
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  useEffect(() => { element.current.showModal(); }, []);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    setProblem("");
    try {
      await act(Object.fromEntries(new FormData(event.target)));
      close();
      if (done) done();
    } catch (error) {
      setProblem(error.message);
      setBusy(false);
    }
  };
  return (
    <dialog ref={element} onClose={close} aria-labelledby="dialog-title">
      <form onSubmit={submit}>
        <h2 id="dialog-title">{title}</h2>
        <div className="touches">{touches}</div>
        {children}
        <Problem text={problem} />
        <div className="buttons">
          <button type="button" onClick={() => element.current.close()}>Cancel</button>
          <button type="submit" className={danger ? "danger" : "primary"} disabled={busy}>{busy ? "One moment…" : verb}</button>
        </div>
      </form>
    </dialog>
  );
}

export const Field = ({ label, name, hint, ...rest }) => (
  <label className="field">
    <span>{label}</span>
    <input name={name} {...rest} />
    {hint && <small>{hint}</small>}
  </label>
);
export const Check = ({ label, name }) => (
  <label className="check"><input type="checkbox" name={name} value="yes" /> {label}</label>
);
