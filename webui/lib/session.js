// Who the reader is, for the master. Kept until the tab is closed. Requests carry it themselves and
// never the browser's own credentials, which pages of other sites could use, too.

const KEY = "mesita.authorization";

export const base = new URL("./", location.href.split("#")[0]).href;

export const session = {
  authorization: sessionStorage.getItem(KEY),
  principal: sessionStorage.getItem(`${KEY}.principal`) || "",

  signIn(scheme, principal, secret) {
    const bytes = new TextEncoder().encode(`${principal}:${secret}`);
    this.authorization = scheme === "Bearer" ? `Bearer ${secret}`
      : `Basic ${btoa(String.fromCharCode(...bytes))}`;
    this.principal = principal;
    sessionStorage.setItem(KEY, this.authorization);
    sessionStorage.setItem(`${KEY}.principal`, principal);
  },

  signOut() {
    this.authorization = null;
    this.principal = "";
    sessionStorage.removeItem(KEY);
    sessionStorage.removeItem(`${KEY}.principal`);
  },
};
