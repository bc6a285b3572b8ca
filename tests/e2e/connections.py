"""How the tests reach the daemons that they start: plain, or by TLS."""

import http.client
import os
import ssl

context = None  # of TLS; None: plain
environment = {}  # what daemons and commands get besides


def connect(address, timeout):
    if context is None:
        return http.client.HTTPConnection(*address, timeout=timeout)
    return http.client.HTTPSConnection(*address, timeout=timeout, context=context)


def secure(folder, **more):
    """From now on by TLS, with the certificates in a folder (ca.pem, cert.pem, key.pem). `more`:
    settings without their LIBPROCESS_SSL_."""
    global context
    names = {name: os.path.join(folder, name + ".pem") for name in ("ca", "cert", "key")}
    context = ssl.create_default_context(cafile=names["ca"])
    context.load_cert_chain(names["cert"], names["key"])
    settings = {"ENABLED": "true", "CA_FILE": names["ca"], "CERT_FILE": names["cert"],
                "KEY_FILE": names["key"], "VERIFY_SERVER_CERT": "true", "VERIFY_IPADD": "true"}
    settings.update(more)
    environment.clear()
    environment.update({"LIBPROCESS_SSL_" + name: value for name, value in settings.items()})


def plain():
    global context
    context = None
    environment.clear()
