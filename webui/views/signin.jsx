// Saying who the reader is, when the master asks.

import { signIn } from "../lib/cluster.js";
import { Field } from "../parts/dialog.jsx";

export function SignIn({ status }) {
  const bearer = status.scheme === "Bearer";
  const submit = (event) => {
    event.preventDefault();
    const { principal = "", secret } = Object.fromEntries(new FormData(event.target));
    signIn(status.scheme, principal, secret);
  };
  return (
    <main className="signin">
      <form onSubmit={submit}>
        <h1>Sign in</h1>
        <p>This master asks who you are{status.realm && <> (realm <code>{status.realm}</code>)</>}.
          {!bearer && " It knows those who are in the file of its --credentials."}</p>
        {!bearer && <Field label="Principal" name="principal" required autoComplete="username" autoFocus />}
        <Field label={bearer ? "Token" : "Secret"} name="secret" type="password" required autoComplete="current-password" />
        {status.refused && <p className="problem" role="alert">The master does not know this {bearer ? "token" : "principal and secret"}.</p>}
        <div className="buttons"><button type="submit" className="primary">Sign in</button></div>
      </form>
    </main>
  );
}
