/* TLS: both ends of a session in memory, and the server, client and messenger on it. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/client.h"
#include "net/libprocess.h"
#include "net/tls/authority.h"
#include "net/tls/tls.h"
#include "net_harness.h"

static char folder[] = "/tmp/mesita-tls.XXXXXX";
static char *ca, *cert, *key;
static struct tls_authority *authority;
static struct tls_settings settings;
static struct tls *tls;
static struct err err;

static char *in_folder(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return strdup(path);
}

static void issue(const char *const *addresses, size_t count)
{
	cr_assert_eq(tls_authority_issue(authority, addresses, count, cert, key, &err), 0, "%s",
		     err.text);
}

static void set_up(void)
{
	snprintf(folder, sizeof(folder), "/tmp/mesita-tls.XXXXXX");
	cr_assert_not_null(mkdtemp(folder));
	ca = in_folder("ca.pem");
	cert = in_folder("cert.pem");
	key = in_folder("key.pem");
	cr_assert_eq(tls_authority_create(ca, &authority, &err), 0, "%s", err.text);
	issue((const char *const[]){"127.0.0.1", "::1"}, 2);
	cr_assert_eq(tls_settings_read(&settings, &err), 0, "%s", err.text);
	cr_assert_not(settings.enabled);
	settings.ca_file = ca;
	settings.cert_file = cert;
	settings.key_file = key;
	settings.verify_server = settings.verify_ip = true;
}

static void begin(void)
{
	cr_assert_eq(tls_create(&settings, true, &tls, &err), 0, "%s", err.text);
}

static void tear_down(void)
{
	tls_free(tls);
	tls_authority_free(authority);
	unlink(ca);
	unlink(cert);
	unlink(key);
	rmdir(folder);
	free(ca);
	free(cert);
	free(key);
}

TestSuite(tls, .init = set_up, .fini = tear_down, .timeout = 60);

/* ---- two ends in memory ------------------------------------------------------------- */

struct end {
	struct tls_session *session;
	struct buf out; /* to the other one */
	struct buf heard;
	enum tls_state state;
};

static struct end client, server;

/* Hands over what one said, in pieces. */
static void pass(struct end *from, struct end *to, size_t piece)
{
	struct buf bytes = from->out;

	from->out = BUF_INIT;
	for (size_t i = 0; i < bytes.len && to->state < TLS_ENDED; i += piece) {
		size_t len = bytes.len - i < piece ? bytes.len - i : piece;
		struct slice plain;

		to->state = tls_session_take(to->session, bytes.data + i, len, &to->out, &plain);
		buf_append(&to->heard, plain.data, plain.len);
	}
	buf_free(&bytes);
}

static void shake(const char *host, size_t piece)
{
	struct slice plain;

	client = (struct end){.session = tls_session_create(tls, host)};
	server = (struct end){.session = tls_session_create(tls, NULL)};
	client.state = tls_session_take(client.session, NULL, 0, &client.out, &plain);
	for (int i = 0; i < 6; i++) {
		pass(&client, &server, piece);
		pass(&server, &client, piece);
	}
}

static void say(struct end *from, struct end *to, const char *text, size_t len, size_t piece)
{
	tls_session_seal(from->session, text, len, &from->out);
	if (len > 8)
		cr_assert_null(memmem(from->out.data, from->out.len, text, len));
	pass(from, to, piece);
}

static void part(void)
{
	struct end *ends[] = {&client, &server};

	for (int i = 0; i < 2; i++) {
		tls_session_free(ends[i]->session);
		buf_free(&ends[i]->out);
		buf_free(&ends[i]->heard);
	}
}

Test(tls, carries_bytes_in_any_pieces)
{
	static const size_t pieces[] = {1, 7, 1000, 1 << 20};
	char *big = malloc(100000);

	memset(big, 'x', 100000);
	begin();
	for (size_t i = 0; i < 4; i++) {
		shake("127.0.0.1", pieces[i]);
		cr_assert_eq(client.state, TLS_OPEN);
		cr_assert_eq(server.state, TLS_OPEN);
		cr_assert_eq(tls_session_trust(client.session), TLS_TRUSTED);
		cr_assert_eq(tls_session_trust(server.session), TLS_TRUSTED);
		say(&client, &server, "question", 8, pieces[i]);
		say(&server, &client, big, 100000, pieces[i]);
		cr_assert_str_eq(server.heard.data, "question");
		say(&client, &server, "s", 1, pieces[i]);
		cr_assert_str_eq(server.heard.data, "questions");
		cr_assert_eq(client.heard.len, 100000);
		cr_assert_eq(memcmp(client.heard.data, big, 100000), 0);
		tls_session_finish(server.session, &server.out);
		pass(&server, &client, pieces[i]);
		cr_assert_eq(client.state, TLS_ENDED);
		part();
	}
	free(big);
}

Test(tls, trusts_whom_the_certificate_names)
{
	static const struct {
		const char *host;
		enum tls_trust trust;
	} cases[] = {
		{"localhost", TLS_TRUSTED},    {"127.0.0.1", TLS_TRUSTED}, {"::1", TLS_TRUSTED},
		{"127.0.0.2", TLS_STRANGER},   {"::2", TLS_STRANGER},	   {"local", TLS_STRANGER},
		{"a.localhost", TLS_STRANGER}, {"", TLS_STRANGER},
	};

	begin();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		shake(cases[i].host, 100000);
		cr_assert_eq(client.state, TLS_OPEN, "%s", cases[i].host);
		cr_expect_eq(tls_session_trust(client.session), cases[i].trust, "%s",
			     cases[i].host);
		part();
	}
}

Test(tls, asks_for_a_name_in_the_legacy_scheme)
{
	settings.verify_ip = false;
	begin();
	shake("127.0.0.2", 100000);
	cr_assert_eq(tls_session_trust(client.session), TLS_NAMELESS);
	cr_assert_eq(tls_session_trust_name(client.session, "localhost"), TLS_TRUSTED);
	cr_assert_eq(tls_session_trust_name(client.session, "other"), TLS_STRANGER);
	cr_assert_str_eq(tls_session_error(client.session), "the certificate is not for other");
	cr_assert_eq(tls_session_trust_name(client.session, NULL), TLS_TRUSTED);
	part();
	tls_free(tls);
	settings.require_client = true;
	begin();
	shake("127.0.0.2", 100000);
	cr_assert_eq(client.state, TLS_OPEN);
	cr_assert_eq(tls_session_trust_name(client.session, NULL), TLS_STRANGER);
	part();
	tls_free(tls);
	settings.openssl_names = true;
	begin();
	shake("127.0.0.2", 100000);
	cr_assert_eq(tls_session_trust(client.session), TLS_STRANGER);
	part();
	tls_free(tls);
	settings.verify_server = settings.require_client = false;
	begin();
	shake("127.0.0.2", 100000);
	cr_assert_eq(tls_session_trust(client.session), TLS_TRUSTED);
	part();
}

Test(tls, distrusts_other_authorities)
{
	char *other = in_folder("other.pem");
	struct tls_authority *stranger;

	cr_assert_eq(tls_authority_create(other, &stranger, &err), 0);
	settings.ca_file = other;
	begin();
	shake("127.0.0.1", 100000);
	cr_assert_eq(client.state, TLS_FAILED);
	cr_assert(tls_session_distrusts(client.session));
	cr_assert(strstr(tls_session_error(client.session), "certificate verify failed"), "%s",
		  tls_session_error(client.session));
	cr_assert(strstr(tls_session_error(client.session), "local issuer certificate)"), "%s",
		  tls_session_error(client.session));
	cr_assert_eq(server.state, TLS_FAILED);
	cr_assert_not(tls_session_distrusts(server.session));
	part();
	unlink(other);
	free(other);
	tls_authority_free(stranger);
}

Test(tls, has_the_versions_that_are_asked_for)
{
	begin();
	for (int version = TLS_1_0; version < TLS_VERSIONS; version++) {
		struct tls_settings only = settings;
		struct tls *other;

		for (int i = 0; i < TLS_VERSIONS; i++)
			only.versions[i] = i == version;
		cr_assert_eq(tls_create(&only, true, &other, &err), 0, "%s", err.text);
		client = (struct end){.session = tls_session_create(other, "localhost")};
		server = (struct end){.session = tls_session_create(tls, NULL)};
		tls_session_take(client.session, NULL, 0, &client.out, &(struct slice){NULL, 0});
		for (int i = 0; i < 6; i++) {
			pass(&client, &server, 100000);
			pass(&server, &client, 100000);
		}
		cr_expect_eq(client.state == TLS_OPEN, version >= TLS_1_2, "%d", version);
		part();
		tls_free(other);
	}
}

Test(tls, survives_garbage)
{
	static const char *const garbage[] = {"GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01\xff\xff",
					      "\x16\x03\x01\x00\x01\x01", "\x80\x80\x01\x03\x01"};

	begin();
	for (size_t i = 0; i < 4; i++) {
		struct slice plain;

		server = (struct end){.session = tls_session_create(tls, NULL)};
		server.state = tls_session_take(server.session, garbage[i], strlen(garbage[i]),
						&server.out, &plain);
		cr_assert_eq(plain.len, 0);
		cr_assert(server.state == TLS_FAILED || server.state == TLS_SHAKING);
		tls_session_take(server.session, garbage[0], 18, &server.out, &plain);
		client = (struct end){0};
		part();
	}
	/* In the middle of a session. */
	shake("localhost", 100000);
	buf_puts(&client.out, garbage[0]);
	pass(&client, &server, 3);
	cr_assert_eq(server.state, TLS_FAILED);
	part();
}

Test(tls, reads_certificates_again)
{
	FILE *file;

	begin();
	file = fopen(cert, "w");
	fputs("no certificate", file);
	fclose(file);
	cr_assert_eq(tls_reload(tls, &err), ERR_INVALID);
	shake("127.0.0.1", 100000);
	cr_assert_eq(tls_session_trust(client.session), TLS_TRUSTED);
	issue((const char *const[]){"127.0.0.2"}, 1);
	cr_assert_eq(tls_reload(tls, &err), 0, "%s", err.text);
	say(&client, &server, "goes on", 7, 100);
	cr_assert_str_eq(server.heard.data, "goes on");
	part();
	shake("127.0.0.1", 100000);
	cr_assert_eq(tls_session_trust(client.session), TLS_STRANGER);
	part();
}

Test(tls, keeps_keys_to_the_owner)
{
	struct stat status;

	cr_assert_eq(stat(key, &status), 0);
	cr_assert_eq(status.st_mode & 0777, 0600);
	cr_assert_eq(tls_authority_issue(authority, (const char *const[]){"nowhere"}, 1, cert, key,
					 &err),
		     ERR_IO);
	begin(); /* what was there stays */
}

/* ---- the environment ------------------------------------------------------------------- */

Test(tls_settings, are_those_of_libprocess)
{
	struct tls_settings read;

	setenv("LIBPROCESS_SSL_ENABLED", "1", 1);
	setenv("LIBPROCESS_SSL_CERT_FILE", "file:///c", 1);
	setenv("LIBPROCESS_SSL_KEY_FILE", "/k", 1);
	setenv("LIBPROCESS_SSL_CA_DIR", "", 1);
	setenv("LIBPROCESS_SSL_REQUIRE_CERT", "TRUE", 1);
	setenv("LIBPROCESS_SSL_VERIFY_DEPTH", "2", 1);
	setenv("LIBPROCESS_SSL_ECDH_CURVE", "auto", 1);
	setenv("LIBPROCESS_SSL_ENABLE_TLS_V1_3", "false", 1);
	setenv("LIBPROCESS_SSL_HOSTNAME_VALIDATION_SCHEME", "openssl", 1);
	cr_assert_eq(tls_settings_read(&read, &err), 0, "%s", err.text);
	cr_assert(read.enabled && read.require_client && read.verify_server && read.openssl_names);
	cr_assert_not(read.support_downgrade || read.verify_ip || read.versions[TLS_1_3] ||
		      read.versions[TLS_1_0] || read.versions[TLS_1_1]);
	cr_assert(read.versions[TLS_1_2]);
	cr_assert_str_eq(read.cert_file, "/c");
	cr_assert_str_eq(read.key_file, "/k");
	cr_assert_null(read.ca_dir);
	cr_assert_null(read.curves);
	cr_assert_eq(read.verify_depth, 2);
	setenv("LIBPROCESS_SSL_VERIFY_DEPTH", "101", 1);
	cr_assert_eq(tls_settings_read(&read, &err), ERR_INVALID);
}

/* Each that cannot be used is named, with what OpenSSL says of it. */
Test(tls, names_what_cannot_be_used)
{
	const struct tls_settings good = settings;
	char *other = in_folder("other.pem"), *other_key = in_folder("other-key.pem");
	const struct {
		struct tls_settings settings;
		const char *complaint;
	} cases[] = {
		{{.ca_file = "/no/ca", .cert_file = cert, .key_file = key},
		 "LIBPROCESS_SSL_CA_FILE or _CA_DIR '/no/ca' cannot be used: "},
		{{.ca_dir = "/no/\x01", .ca_file = "/no/ca", .cert_file = cert, .key_file = key},
		 "_CA_DIR '/no/ca' cannot be used: "},
		{{.cert_file = "/no/cert", .key_file = key},
		 "LIBPROCESS_SSL_CERT_FILE '/no/cert' cannot be used: "},
		{{.cert_file = cert, .key_file = "/no/key"},
		 "LIBPROCESS_SSL_KEY_FILE '/no/key' cannot be used: "},
		{{.cert_file = cert, .key_file = other_key}, "cannot be used: key values mismatch"},
		{{.cert_file = cert, .key_file = key, .ciphers = "none-such"},
		 "LIBPROCESS_SSL_CIPHERS 'none-such' cannot be used: no cipher match"},
		{{.cert_file = cert, .key_file = key, .curves = "none-such"},
		 "LIBPROCESS_SSL_ECDH_CURVES 'none-such' cannot be used: "},
		{{.cert_file = cert}, "KEY_FILE"},
		{{.key_file = key}, "CERT_FILE"},
	};

	cr_assert_eq(tls_authority_issue(authority, (const char *const[]){"127.0.0.1"}, 1, other,
					 other_key, &err),
		     0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct tls_settings bad = cases[i].settings;

		memcpy(bad.versions, good.versions, sizeof(bad.versions));
		bad.verify_depth = good.verify_depth;
		err.text[0] = '\0';
		cr_expect_eq(tls_create(&bad, true, &tls, &err), ERR_INVALID, "case %zu", i);
		cr_expect(strstr(err.text, cases[i].complaint), "case %zu: %s", i, err.text);
	}
	unlink(other);
	unlink(other_key);
	free(other);
	free(other_key);
	begin();
}

Test(tls, has_ciphers_and_curves_of_ones_own)
{
	settings.ciphers = "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256";
	settings.curves = "P-256";
	begin();
}

Test(tls_settings, name_what_is_neither_true_nor_false)
{
	struct tls_settings read;

	setenv("LIBPROCESS_SSL_VERIFY_CERT", "maybe", 1);
	cr_assert_eq(tls_settings_read(&read, &err), ERR_INVALID);
	cr_assert_str_eq(err.text, "LIBPROCESS_SSL_VERIFY_CERT is neither true nor false: 'maybe'");
	cr_assert_eq(tls_for_url(&tls, &err), ERR_INVALID);
	cr_assert_eq(tls_from_environment(true, &tls, &err), ERR_INVALID);
}

/* A program that was given an https:// URL looks whom it speaks to, unless it was told not to. */
Test(tls_settings, of_an_url_verify_the_server)
{
	cr_assert_eq(tls_for_url(&tls, &err), 0, "%s", err.text);
	cr_assert(tls_settings(tls)->verify_server);
	cr_assert(tls_settings(tls)->openssl_names);
	cr_assert_not(tls_settings(tls)->support_downgrade);
	tls_free(tls);
	setenv("LIBPROCESS_SSL_SUPPORT_DOWNGRADE", "1", 1);
	setenv("LIBPROCESS_SSL_VERIFY_SERVER_CERT", "0", 1);
	cr_assert_eq(tls_for_url(&tls, &err), 0, "%s", err.text);
	cr_assert_not(tls_settings(tls)->verify_server);
	cr_assert_not(tls_settings(tls)->support_downgrade);
	tls_free(tls);
	unsetenv("LIBPROCESS_SSL_VERIFY_SERVER_CERT");
	setenv("LIBPROCESS_SSL_VERIFY_CERT", "false", 1);
	cr_assert_eq(tls_for_url(&tls, &err), 0, "%s", err.text);
	cr_assert_not(tls_settings(tls)->verify_server);
	tls_free(tls);
}

/* ---- on sockets ---------------------------------------------------------------------------- */

static struct fixture fixture;
static struct buf answers;

static void on_answer(void *context, const struct http_answer *answer)
{
	(void)context;
	if (answer->status == 0)
		buf_printf(&answers, "%s|", strrchr(answer->error, ':') + 2);
	else
		buf_printf(&answers, "%d %zu|", answer->status, answer->body.len);
}

static void serve(void)
{
	begin();
	fixture_init(&fixture);
	fixture.options.tls = tls;
	fixture.big_size = 3000000;
	fixture_start(&fixture);
}

/* `answer` NULL: none. */
static void ask(struct tls *by, const char *host, const char *path, const char *answer)
{
	struct http_client *asker;

	http_clients_secure(by);
	buf_clear(&answers);
	asker = http_client_create(&fixture.loop, host, http_server_port(fixture.server));
	http_client_send(asker, "GET", path, NULL, NULL, 0, 0, on_answer, NULL);
	until(&fixture, answers.len > 0);
	if (answer)
		cr_assert_str_eq(answers.data, answer);
	else
		cr_assert(strncmp(answers.data, "200", 3));
	http_client_close(asker);
	http_clients_secure(NULL);
}

static void finish(void)
{
	fixture_finish(&fixture);
	buf_free(&answers);
}

Test(tls, serves_clients)
{
	serve();
	ask(tls, "127.0.0.1", "/hello", "200 5|");
	ask(tls, "localhost", "/big", "200 3000000|");
	ask(NULL, "127.0.0.1", "/hello", "connection closed|");
	finish();
}

Test(tls, serves_clients_whose_server_has_a_name)
{
	settings.verify_ip = false;
	serve();
	ask(tls, "127.0.0.1", "/hello", "200 5|");
	finish();
}

Test(tls, downgrades_where_it_may)
{
	struct tls_settings strict = settings;
	struct tls *strictly;

	settings.support_downgrade = true;
	serve();
	cr_assert_eq(tls_create(&strict, false, &strictly, &err), 0);
	ask(NULL, "127.0.0.1", "/hello", "200 5|");
	ask(tls, "127.0.0.1", "/big", "200 3000000|");
	ask(strictly, "127.0.0.1", "/hello", "200 5|");
	fixture_finish(&fixture);
	/* Now the server is plain. */
	fixture_init(&fixture);
	fixture_start(&fixture);
	ask(tls, "127.0.0.1", "/hello", "200 5|");
	ask(strictly, "127.0.0.1", "/hello", NULL);
	tls_free(strictly);
	finish();
}

Test(tls, does_not_downgrade_for_a_stranger)
{
	char *other = in_folder("other.pem");
	struct tls_authority *stranger;
	struct tls_settings doubtful = settings;
	struct tls *doubting;

	cr_assert_eq(tls_authority_create(other, &stranger, &err), 0);
	doubtful.ca_file = other;
	doubtful.support_downgrade = settings.support_downgrade = true;
	cr_assert_eq(tls_create(&doubtful, false, &doubting, &err), 0);
	serve();
	ask(doubting, "127.0.0.1", "/hello", "protocol error|");
	cr_assert_eq(fixture.log.len, 0);
	finish();
	tls_free(doubting);
	tls_authority_free(stranger);
	unlink(other);
	free(other);
}

static struct buf exits;

static void on_exited(void *context, const char *pid)
{
	(void)context;
	buf_puts(&exits, pid);
}

Test(tls, carries_messages)
{
	struct messenger *messenger;
	char to[PID_MAX];

	serve();
	messenger = messenger_create(&fixture.loop, tls, on_exited, NULL);
	snprintf(to, sizeof(to), "slave(1)@127.0.0.1:%d", http_server_port(fixture.server));
	messenger_link(messenger, to);
	messenger_send(messenger, "master@127.0.0.1:1", to, "name", "body", 4);
	until(&fixture, fixture.messages.len > 0);
	cr_assert_str_eq(fixture.messages.data, "master@127.0.0.1:1>slave(1):name(body)\n");
	fixture_stop_server(&fixture);
	until(&fixture, exits.len > 0);
	cr_assert_str_eq(exits.data, to);
	messenger_close(messenger);
	finish();
	buf_free(&exits);
}

/* A peer that never answers its handshake, closed in the middle of it. */
Test(tls, ends_in_the_middle_of_a_handshake)
{
	struct http_client *asker;
	struct raw raw;

	serve();
	raw_open(&raw, &fixture);
	raw_write(&raw, "\x16\x03\x01\x02\x00\x01", 6);
	fixture_turn(&fixture);
	raw_close(&raw);
	http_clients_secure(tls);
	asker = http_client_create(&fixture.loop, "127.0.0.1", http_server_port(fixture.server));
	http_client_send(asker, "GET", "/", NULL, NULL, 0, 0, on_answer, NULL);
	uv_run(&fixture.loop, UV_RUN_NOWAIT);
	uv_run(&fixture.loop, UV_RUN_NOWAIT);
	http_client_close(asker);
	http_clients_secure(NULL);
	finish();
}
