/* The fixed resource estimator's parameters. */
#include <criterion/criterion.h>
#include <string.h>

#include "agent/estimator.h"

static struct resource_shapes *shapes;
static struct resources out;
static struct err err;

static void start(void)
{
	shapes = resource_shapes_create();
}

static void stop(void)
{
	resources_free(&out);
	resource_shapes_destroy(shapes);
}

TestSuite(agent_shell_estimator, .init = start, .fini = stop);

#define MODULES(parameters)                                                                        \
	"{\"libraries\":[{\"file\":\"x.so\",\"modules\":[{\"name\":\"other\"},{\"name\":"          \
	"\"" ESTIMATOR_FIXED "\",\"parameters\":[" parameters "]}]}]}"

Test(agent_shell_estimator, none)
{
	cr_expect_eq(estimator_parse(shapes, NULL, "{}", &out, &err), 0);
	cr_expect(resources_empty(&out));
}

Test(agent_shell_estimator, all_is_revocable)
{
	struct buf text = BUF_INIT;

	cr_assert_eq(estimator_parse(shapes, ESTIMATOR_FIXED,
				     MODULES("{\"key\":\"a\",\"value\":\"b\"},"
					     "{\"key\":\"resources\",\"value\":\"cpus:2;mem:64\"}"),
				     &out, &err),
		     0, "%s", err.text);
	resources_print(&out, &text);
	cr_expect_str_eq(text.data, "cpus{REV}:2; mem{REV}:64");
	buf_free(&text);
}

Test(agent_shell_estimator, what_is_wrong)
{
	static const struct {
		const char *name, *modules, *text;
	} cases[] = {
		{"x", "{}", "--resource_estimator=x: mesita has no modules"},
		{ESTIMATOR_FIXED, NULL, "Invalid value for --modules: it is not set"},
		{ESTIMATOR_FIXED, "{", "Invalid value for --modules: "},
		{ESTIMATOR_FIXED, "[]", "Module '" ESTIMATOR_FIXED "' unknown"},
		{ESTIMATOR_FIXED, "{\"libraries\":7}", "Module '" ESTIMATOR_FIXED "' unknown"},
		{ESTIMATOR_FIXED, "{\"libraries\":[1,{\"modules\":{}}]}", "unknown"},
		{ESTIMATOR_FIXED, MODULES(""), "has no parameter 'resources'"},
		{ESTIMATOR_FIXED, MODULES("{\"key\":\"resources\",\"value\":\"cpus:x\"}"),
		 "Failed to create resource estimator: "},
		{ESTIMATOR_FIXED, MODULES("{\"key\":\"resources\",\"value\":\"cpus:-1\"}"),
		 "Failed to create resource estimator: "},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cr_expect_lt(estimator_parse(shapes, cases[i].name, cases[i].modules, &out, &err),
			     0, "%zu", i);
		cr_expect(strstr(err.text, cases[i].text), "%zu: %s", i, err.text);
		cr_expect(resources_empty(&out), "%zu", i);
	}
}
