"""Images that tests make themselves, as docker, podman and registries have them."""

import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile

import harness
import processes

APPLETS = ["sh", "cat", "echo", "env", "id", "ls", "pwd", "sleep", "test", "touch", "stat", "ps",
           "readlink", "grep", "mount", "tr", "mkdir", "rm", "kill", "true", "sort", "wc", "httpd",
           "hostname", "head", "dd", "seq", "df"]


def busybox():
    """The program, linked statically; None: it is not here."""
    path = shutil.which("busybox")
    if not path:
        return None
    with open(path, "rb") as file:
        return file.read()


def archive(entries):
    """A tar of {path: text | bytes | None (a directory) | ("link", target) | ("hard", target) |
    TarInfo}; bytes of programs are executable."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path, what in entries.items():
            info, data = tarfile.TarInfo(path), None
            if isinstance(what, tarfile.TarInfo):
                info = what
            elif what is None:
                info.type, info.mode = tarfile.DIRTYPE, 0o755
            elif isinstance(what, tuple):
                info.type = tarfile.SYMTYPE if what[0] == "link" else tarfile.LNKTYPE
                info.linkname = what[1]
            else:
                data = what if isinstance(what, bytes) else what.encode()
                info.size, info.mode = len(data), 0o755 if isinstance(what, bytes) else 0o644
            tar.addfile(info, io.BytesIO(data) if data is not None else None)
    return out.getvalue()


def base_layer(**more):
    entries = {"bin": None, "etc": None, "tmp": None, "bin/busybox": busybox(),
               "etc/passwd": "root:x:0:0:root:/:/bin/sh\nworker:x:1234:4321::/:/bin/sh\n",
               "etc/group": "root:x:0:\ncrew:x:77:\n"}
    for name in APPLETS:
        entries["bin/" + name] = ("hard", "bin/busybox")
    entries.update(more)
    return archive(entries)


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def config(layers, **runtime):
    """The configuration's JSON."""
    return json.dumps({"architecture": "amd64", "os": "linux", "config": runtime, "rootfs": {
        "type": "layers", "diff_ids": ["sha256:" + sha256(layer) for layer in layers]}}).encode()


def save(folder, name, layers, tag="latest", **runtime):
    """What `docker save NAME` writes, as FOLDER/NAME.tar."""
    text = config(layers, **runtime)
    names = ["%d/layer.tar" % index for index in range(len(layers))]
    entries = {"config.json": text.decode(), "manifest.json": json.dumps([{
        "Config": "config.json", "RepoTags": ["%s:%s" % (name, tag)], "Layers": names}])}
    entries.update(zip(names, layers))
    path = os.path.join(folder, name + ".tar")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(archive(entries))
    return path


class Blobs:
    """An image's documents: what an OCI layout and a registry hold."""

    def __init__(self, layers, compress=True, **runtime):
        self.blobs = {}
        kind = "application/vnd.oci.image.layer.v1.tar" + ("+gzip" if compress else "")
        listed = [self.add(gzip.compress(layer, 1) if compress else layer, kind)
                  for layer in layers]
        text = self.add(config(layers, **runtime), "application/vnd.oci.image.config.v1+json")
        self.manifest = json.dumps({
            "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": text, "layers": listed}).encode()
        self.layers = listed

    def add(self, data, kind):
        digest = "sha256:" + sha256(data)
        self.blobs[digest] = data
        return {"mediaType": kind, "digest": digest, "size": len(data)}


def layout(folder, blobs, tag="latest", **platform):
    """An OCI layout."""
    os.makedirs(os.path.join(folder, "blobs/sha256"), exist_ok=True)
    described = blobs.add(blobs.manifest, "application/vnd.oci.image.manifest.v1+json")
    if platform:
        described["platform"] = platform
    else:
        described["annotations"] = {"org.opencontainers.image.ref.name": tag}
    for digest, data in blobs.blobs.items():
        with open(os.path.join(folder, "blobs/sha256", digest[7:]), "wb") as file:
            file.write(data)
    for name, document in (("oci-layout", {"imageLayoutVersion": "1.0.0"}),
                           ("index.json", {"schemaVersion": 2, "manifests": [described]})):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            json.dump(document, file)
    return folder


class Registry:
    """Debian's docker-registry on loopback; its directory is the test's."""

    def __init__(self, test, folder, **settings):
        self.port = harness.free_port()
        self.address = "127.0.0.1:%d" % self.port
        text = ["version: 0.1", "storage:", "  filesystem:", "    rootdirectory: " + folder,
                "http:", "  addr: " + self.address, "log:", "  level: error"]
        if "htpasswd" in settings:
            text += ["auth:", "  htpasswd:", "    realm: tests",
                     "    path: " + settings["htpasswd"]]
        path = folder + ".yml"
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(text) + "\n")
        self.headers = settings.get("headers", {})
        self.process = processes.spawn(["docker-registry", "serve", path],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        test.addCleanup(self.process.wait)
        test.addCleanup(self.process.kill)
        harness.wait_for(self.answers, "the registry answers", 30)

    def request(self, method, path, body=None, headers=None):
        return harness.request(("127.0.0.1", self.port), method, path, body,
                               {**self.headers, **(headers or {})}, timeout=30)

    def answers(self):
        return self.request("GET", "/v2/")[0] in (200, 401)

    def push(self, repository, tag, blobs):
        for digest, data in blobs.blobs.items():
            status, headers, body = self.request("POST", "/v2/%s/blobs/uploads/" % repository)
            assert status == 202, body
            place = headers["Location"].split(self.address, 1)[-1]
            status, _, body = self.request(
                "PUT", "%s%sdigest=%s" % (place, "&" if "?" in place else "?", digest), data,
                {"Content-Type": "application/octet-stream"})
            assert status == 201, body
        return self.push_manifest(repository, tag, blobs.manifest)

    def push_manifest(self, repository, tag, manifest):
        kind = json.loads(manifest)["mediaType"]
        status, headers, body = self.request(
            "PUT", "/v2/%s/manifests/%s" % (repository, tag), manifest, {"Content-Type": kind})
        assert status == 201, body
        return headers["Docker-Content-Digest"]
