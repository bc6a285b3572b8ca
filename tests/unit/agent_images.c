/* Images: their names, what they are made of, what the store keeps. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/containers/image/image_files.h"
#include "agent/containers/image/image_name.h"
#include "agent/containers/image/image_record.h"
#include "agent/containers/pull/pull_internal.h"
#include "agent/containers/sandbox.h"
#include "base/random.h"

static struct arena arena;
static char store[] = "/tmp/mesita-images-XXXXXX";

static void set_up(void)
{
	static const char *const rooms[] = {"images", "layers", "staging", "used", "homes"};

	arena_init(&arena);
	cr_assert(mkdtemp(store));
	for (size_t i = 0; i < 5; i++)
		cr_assert(!mkdir(arena_printf(&arena, "%s/%s", store, rooms[i]), 0755));
}

static void tear_down(void)
{
	sandbox_remove(store, NULL, NULL);
	arena_free(&arena);
}

TestSuite(images, .init = set_up, .fini = tear_down, .timeout = 120);

/* ---- names ---------------------------------------------------------------------- */

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

Test(images, names)
{
	static const struct {
		const char *text, *registry, *repository, *tag, *digest;
	} rows[] = {
		{"alpine", NULL, "alpine", "latest", NULL},
		{"alpine:3", NULL, "alpine", "3", NULL},
		{"library/alpine", NULL, "library/alpine", "latest", NULL},
		{"localhost/a/b:v1.0-x", "localhost", "a/b", "v1.0-x", NULL},
		{"localhost:5000/a", "localhost:5000", "a", "latest", NULL},
		{"host.org/a/b/c", "host.org", "a/b/c", "latest", NULL},
		{"a@sha256:" HEX, NULL, "a", "latest", "sha256:" HEX},
		{"h:1/a:t@sha256:" HEX, "h:1", "a", "t", "sha256:" HEX},
		{"a_b__c.d-e", NULL, "a_b__c.d-e", "latest", NULL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct image_name name;
		struct err err;

		cr_assert_eq(image_name_parse(&arena, rows[i].text, &name, &err), 0, "%s",
			     rows[i].text);
		cr_expect_str_eq(name.repository, rows[i].repository);
		cr_expect_str_eq(name.tag, rows[i].tag);
		cr_expect_str_eq(name.registry ? name.registry : "-",
				 rows[i].registry ? rows[i].registry : "-");
		cr_expect_str_eq(name.digest ? name.digest : "-",
				 rows[i].digest ? rows[i].digest : "-");
	}
}

Test(images, what_is_no_name)
{
	static const char *const rows[] = {
		"",
		"/",
		"/a",
		"a/",
		"a//b",
		"../a",
		"a/../b",
		"a/.b",
		".a",
		"-a",
		"a b",
		"a\nb",
		"a:",
		":t",
		"a:t/",
		"a@",
		"a@b",
		"a@sha256:0",
		"a%2f",
		"a?b",
		"a#b",
		"host.org/",
		"h:1/../a",
		"a;b",
		"a$b",
		"a\\b",
		"h..x:1/a",
		"a@sha256:" HEX "0",
		"a@sha512:" HEX,
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct image_name name;
		struct err err = {""};
		int rv = image_name_parse(&arena, rows[i], &name, &err);

		cr_expect_eq(rv, ERR_INVALID, "'%s' is taken", rows[i]);
	}
}

/* ---- manifests -------------------------------------------------------------------- */

static int parse(const char *text, const char *wanted, struct manifest *out, struct err *err)
{
	return manifest_parse(&arena, text, strlen(text), wanted, out, err);
}

#define BLOB(hex, size) "{\"digest\": \"sha256:" hex "\", \"size\": " size "}"
#define OTHER "ffff456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

Test(images, manifests)
{
	struct manifest m;
	struct err err;

	cr_assert_eq(parse("{\"config\": " BLOB(HEX, "7") ", \"layers\": [" BLOB(
				   OTHER, "1") ", " BLOB(HEX, "22") "]}",
			   NULL, &m, &err),
		     0);
	cr_expect(!m.is_list);
	cr_expect_eq(m.count, 2);
	cr_expect_str_eq(m.config.hex, HEX);
	cr_expect_eq(m.config.size, 7);
	cr_expect_str_eq(m.layers[0].hex, OTHER);
	cr_expect_eq(m.layers[1].size, 22);
}

#define ENTRY(hex, more) "{\"digest\": \"sha256:" hex "\"" more "}"

Test(images, lists_of_manifests)
{
	struct manifest m;
	struct err err;

	cr_assert_eq(
		parse("{\"manifests\": [" ENTRY(
			      OTHER,
			      ", \"platform\": {\"os\": \"linux\", "
			      "\"architecture\": \"vax\"}") ", " ENTRY(HEX,
								       ", \"platform\": {\"os\": "
								       "\"linux\"}") "]}",
		      NULL, &m, &err),
		0);
	cr_expect(m.is_list);
	cr_expect_str_eq(m.next.hex, HEX);
	cr_assert_eq(
		parse("{\"manifests\": [" ENTRY(
			      OTHER,
			      ", \"annotations\": "
			      "{\"org.opencontainers.image.ref.name\": "
			      "\"v1\"}") ", " ENTRY(HEX, ", \"annotations\": "
							 "{\"org.opencontainers.image.ref.name\": "
							 "\"v2\"}") "]}",
		      "v2", &m, &err),
		0);
	cr_expect_str_eq(m.next.hex, HEX);
	cr_expect_eq(parse("{\"manifests\": []}", NULL, &m, &err), ERR_NOT_FOUND);
	cr_expect_eq(
		parse("{\"manifests\": [" ENTRY(HEX, ", \"platform\": {\"os\": \"plan9\"}") "]"
											    "}",
		      NULL, &m, &err),
		ERR_NOT_FOUND);
}

Test(images, what_is_no_manifest)
{
	static const char *const rows[] = {
		"",
		"[]",
		"{}",
		"{\"layers\": []}",
		"{\"layers\": {}}",
		"{\"layers\": [1], \"config\": 2}",
		"{\"layers\": [" BLOB(HEX, "1") "]}",
		"{\"layers\": [" BLOB("../../etc", "1") "], \"config\": " BLOB(HEX, "1") "}",
		"{\"layers\": [{\"digest\": \"md5:" HEX "\"}], \"config\": " BLOB(HEX, "1") "}",
		"{\"schemaVersion\": 1, \"fsLayers\": []}",
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct manifest m;
		struct err err = {""};

		cr_expect_lt(parse(rows[i], NULL, &m, &err), 0, "%s", rows[i]);
		cr_expect(err.text[0]);
	}
}

/* ---- records ------------------------------------------------------------------------ */

static const char *config_text =
	"{\"Env\": [\"A=1\", 7, \"B=\\u00e9\"], \"Entrypoint\": [\"/e\"], \"Cmd\": null, "
	"\"User\": \"me:us\", \"WorkingDir\": \"/w\", \"Labels\": {}}";

static void record(const char *name, char *const *layers, size_t count)
{
	struct json *config;
	struct err err = {""};

	cr_assert_eq(json_parse(&arena, config_text, strlen(config_text), &config, &err), 0);
	cr_assert_eq(image_record_write(store, name, layers, count, config, &err), 0, "%s",
		     err.text);
	for (size_t i = 0; i < count; i++)
		mkdir(arena_printf(&arena, "%s/layers/%s", store, layers[i]), 0755);
}

Test(images, a_record_is_read_as_it_was_written)
{
	char *layers[] = {"top", "middle", "low"};
	const char *name;
	struct image image;
	struct err err;

	record("an/image:1", layers, 3);
	cr_assert_eq(image_record_read(&arena, image_record_path(&arena, store, "an/image:1"),
				       &name, &image, &err),
		     0);
	cr_expect_str_eq(name, "an/image:1");
	cr_expect_eq(image.layer_count, 3);
	cr_expect_str_eq(image.layers[0], "top");
	cr_expect_str_eq(image.layers[2], "low");
	cr_expect_eq(image.environment_count, 2);
	cr_expect_str_eq(image.environment[1], "B=\xc3\xa9");
	cr_expect_eq(image.entrypoint_count, 1);
	cr_expect_eq(image.argument_count, 0);
	cr_expect_str_eq(image.user, "me:us");
	cr_expect_str_eq(image.directory, "/w");
	cr_expect(image_is_there(store, "an/image:1"));
	cr_expect(!image_is_there(store, "an/image"));
}

Test(images, one_that_lacks_a_layer_is_not_there)
{
	char *layers[] = {"top", "low"};
	struct image image;
	struct err err = {""};

	record("an/image", layers, 2);
	cr_expect(image_is_there(store, "an/image"));
	rmdir(arena_printf(&arena, "%s/layers/low", store));
	cr_expect(!image_is_there(store, "an/image"));
	cr_expect_eq(image_take(store, "an/image", "c", store, &arena, &image, &err),
		     ERR_NOT_FOUND);
}

Test(images, a_broken_record_is_no_image)
{
	char *path = image_record_path(&arena, store, "x");
	struct image image;
	struct err err = {""};
	FILE *file = fopen(path, "w");

	fputs("{\"layers\": [", file);
	fclose(file);
	cr_expect_eq(image_record_read(&arena, path, NULL, &image, &err), ERR_CORRUPT);
	file = fopen(path, "w");
	fputs("{\"layers\": []}", file);
	fclose(file);
	cr_expect_eq(image_record_read(&arena, path, NULL, &image, &err), ERR_CORRUPT);
}

/* ---- removal, beside a model ------------------------------------------------------------ */

#define IMAGES 6
#define LAYERS 8
#define CONTAINERS 4
#define ROUNDS 400

static unsigned below(struct rng *rng, unsigned bound)
{
	return (unsigned)(rng_next(rng) % bound);
}

struct model {
	bool there[IMAGES];
	unsigned layers[IMAGES];  /* bits */
	int used_by[CONTAINERS];  /* image + 1; 0: it does not run */
	unsigned use[CONTAINERS]; /* bits: what it took */
	unsigned on_disk;	  /* layers */
};

static char *image_text(int i)
{
	return arena_printf(&arena, "image%d", i);
}

static char *home_of(int i)
{
	return arena_printf(&arena, "%s/homes/c%d", store, i);
}

static void model_pull(struct model *m, struct rng *rng, int i)
{
	char *layers[LAYERS];
	size_t count = 0;

	m->layers[i] = 0;
	while (!m->layers[i])
		m->layers[i] = below(rng, 1 << LAYERS);
	for (int l = 0; l < LAYERS; l++)
		if (m->layers[i] & (1U << l))
			layers[count++] = arena_printf(&arena, "layer%d", l);
	record(image_text(i), layers, count);
	m->there[i] = true;
	m->on_disk |= m->layers[i];
}

static void model_take(struct model *m, int i, int c)
{
	char *id = arena_printf(&arena, "c%d", c);
	struct image image;
	struct err err = {""};
	int rv;

	mkdir(home_of(c), 0755);
	rv = image_take(store, image_text(i), id, home_of(c), &arena, &image, &err);
	cr_assert_eq(rv == 0, m->there[i], "%s", err.text);
	if (rv < 0) {
		cr_assert_eq(rv, ERR_NOT_FOUND);
		rmdir(home_of(c));
		image_release(store, id);
		m->used_by[c] = 0;
		return;
	}
	m->used_by[c] = i + 1;
	m->use[c] = m->layers[i];
}

/* Half of them tell it, the others are just gone. */
static void model_end(struct model *m, struct rng *rng, int c)
{
	if (m->used_by[c] && below(rng, 2))
		image_release(store, arena_printf(&arena, "c%d", c));
	rmdir(home_of(c));
	m->used_by[c] = 0;
}

static void model_prune(struct model *m, struct rng *rng)
{
	char *excluded[IMAGES + 1];
	unsigned used = 0, kept;
	int count = 0, removed = 0, got;
	struct err err = {""};
	bool spared[IMAGES] = {false};

	for (int c = 0; c < CONTAINERS; c++)
		used |= m->used_by[c] ? m->use[c] : 0;
	kept = used;
	for (int i = 0; i < IMAGES; i++)
		if (below(rng, 4) == 0) {
			excluded[count++] = image_text(i);
			spared[i] = true;
		}
	excluded[count] = NULL;
	got = image_prune(store, excluded, &err);
	/* What is kept for one image may keep another that lies in it: the store says which. */
	for (int i = 0; i < IMAGES; i++) {
		bool there = image_is_there(store, image_text(i));

		if (m->there[i] && (spared[i] || !(m->layers[i] & ~used)))
			cr_assert(there, "image%d was in use", i);
		cr_assert(m->there[i] || !there);
		removed += m->there[i] && !there;
		m->there[i] = there;
		kept |= there ? m->layers[i] : 0;
	}
	cr_assert_eq(got, removed);
	m->on_disk = kept;
}

static void model_compare(const struct model *m)
{
	for (int l = 0; l < LAYERS; l++)
		cr_assert_eq(access(arena_printf(&arena, "%s/layers/layer%d", store, l), F_OK) == 0,
			     (m->on_disk >> l) & 1, "layer%d", l);
}

Test(images, nothing_in_use_is_removed)
{
	struct model m = {0};
	struct rng rng;

	rng_seed(&rng, 20261124);
	for (int round = 0; round < ROUNDS; round++) {
		int i = (int)below(&rng, IMAGES), c = (int)below(&rng, CONTAINERS);

		switch (below(&rng, 5)) {
		case 0:
			/* An image that is there is pulled anew with the same layers. */
			if (!m.there[i])
				model_pull(&m, &rng, i);
			break;
		case 1:
		case 2:
			if (!m.used_by[c])
				model_take(&m, i, c);
			break;
		case 3:
			model_end(&m, &rng, c);
			break;
		default:
			model_prune(&m, &rng);
			model_compare(&m);
		}
	}
	cr_expect_eq(access(arena_printf(&arena, "%s/staging/gc-%d-0", store, (int)getpid()), F_OK),
		     -1);
}

Test(images, a_removal_waits_for_those_who_pull)
{
	struct err err = {""};
	int held = image_lock(store, false, 0, &err);

	cr_assert_geq(held, 0);
	/* Others may pull and take meanwhile. */
	cr_expect_geq(image_lock(store, false, 0, &err), 0);
	cr_expect_eq(image_lock(store, true, 0, &err), ERR_STATE);
	close(held);
}

/* ---- whom it trusts ----------------------------------------------------------------------- */

static void expect_ours(const char *path, bool ours)
{
	cr_expect_eq(sandbox_is_ours(path), ours, "%s", path);
}

Test(images, a_store_that_others_could_change_is_not_used)
{
	char *a = arena_printf(&arena, "%s/a", store), *b = arena_printf(&arena, "%s/b", a);
	char *link = arena_printf(&arena, "%s/link", store);
	struct err err = {""};

	mkdir(a, 0755);
	mkdir(b, 0755);
	cr_assert(!symlink(b, link));
	expect_ours(b, true);
	expect_ours(arena_printf(&arena, "%s/", b), true);
	expect_ours(link, false);
	expect_ours(arena_printf(&arena, "%s/../b", link), true);
	chmod(a, 0777);
	expect_ours(b, false);
	chmod(a, 01777);
	expect_ours(b, true);
	expect_ours(arena_printf(&arena, "%s/none", b), false);
	if (geteuid())
		return;
	cr_assert(!chown(b, 12345, 0));
	expect_ours(b, false);
	cr_expect_lt(image_lock(b, false, 0, &err), 0);
	cr_expect(strstr(err.text, "others could change"));
	cr_assert(!chown(b, 0, 0) && !chown(a, 12345, 0));
	expect_ours(b, false);
	cr_assert(!chown(a, 0, 0) && !lchown(link, 12345, 0));
	expect_ours(arena_printf(&arena, "%s/../b", link), false);
}
