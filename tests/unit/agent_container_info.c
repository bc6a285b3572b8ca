/* What containers refuse to be. */
#include <criterion/criterion.h>

#include "agent/containers/container_info.h"

static struct arena arena;
static Mesos__ContainerInfo *info;

static void set_up(void)
{
	arena_init(&arena);
	info = PROTO_NEW(&arena, Mesos__ContainerInfo, mesos__container_info__descriptor);
	info->type = MESOS__CONTAINER_INFO__TYPE__MESOS;
}

static void tear_down(void)
{
	arena_free(&arena);
}

TestSuite(container_info, .init = set_up, .fini = tear_down, .timeout = 60);

static void expect(enum agent_start_stage stage, const char *text)
{
	enum agent_start_stage got;
	struct err err = {""};
	int rv = container_info_check(NULL, info, false, &got, &err);

	cr_expect_eq(rv < 0, text != NULL);
	cr_expect_str_eq(err.text, text ? text : "");
	cr_expect_eq(got, stage);
}

Test(container_info, without_demands_is_fine)
{
	Mesos__NetworkInfo *network =
		PROTO_NEW(&arena, Mesos__NetworkInfo, mesos__network_info__descriptor);

	expect(AGENT_STAGE_LAUNCH, NULL);
	proto_push(&arena, info->n_network_infos, info->network_infos, network);
	info->mesos = PROTO_NEW(&arena, Mesos__ContainerInfo__MesosInfo,
				mesos__container_info__mesos_info__descriptor);
	expect(AGENT_STAGE_LAUNCH, NULL);
	info = NULL;
	expect(AGENT_STAGE_LAUNCH, NULL);
}

Test(container_info, of_docker)
{
	info->type = MESOS__CONTAINER_INFO__TYPE__DOCKER;
	expect(AGENT_STAGE_TYPE, "unknown container");
}

Test(container_info, with_an_image)
{
	info->mesos = PROTO_NEW(&arena, Mesos__ContainerInfo__MesosInfo,
				mesos__container_info__mesos_info__descriptor);
	info->mesos->image = PROTO_NEW(&arena, Mesos__Image, mesos__image__descriptor);
	info->mesos->image->type = MESOS__IMAGE__TYPE__DOCKER;
	expect(AGENT_STAGE_LAUNCH, "Unsupported container image type: DOCKER");
}

Test(container_info, with_volumes)
{
	Mesos__Volume *volume = PROTO_NEW(&arena, Mesos__Volume, mesos__volume__descriptor);

	proto_push(&arena, info->n_volumes, info->volumes, volume);
	expect(AGENT_STAGE_LAUNCH, "Volumes in ContainerInfo is not supported");
}

Test(container_info, with_a_named_network)
{
	Mesos__NetworkInfo *network =
		PROTO_NEW(&arena, Mesos__NetworkInfo, mesos__network_info__descriptor);

	network->name = (char *)"overlay";
	proto_push(&arena, info->n_network_infos, info->network_infos, network);
	expect(AGENT_STAGE_LAUNCH, "Unknown CNI network 'overlay'");
}
