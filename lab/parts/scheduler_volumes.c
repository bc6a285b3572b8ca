#include "lab/parts/scheduler.h"
#include "lab/parts/scheduler_offers.h"

static Mesos__Resource *make_reserved_disk(const char *role, struct arena *arena)
{
	Mesos__Resource *r = offer_make_scalar(arena, "disk", VOLUME_SIZE);
	Mesos__Resource__ReservationInfo *reservation =
		PROTO_NEW(arena, Mesos__Resource__ReservationInfo,
			  mesos__resource__reservation_info__descriptor);

	reservation->has_type = true;
	reservation->type = MESOS__RESOURCE__RESERVATION_INFO__TYPE__DYNAMIC;
	reservation->role = arena_strdup(arena, role);
	proto_push(arena, r->n_reservations, r->reservations, reservation);
	return r;
}

static Mesos__Resource *make_volume(struct scheduler_part *part, const char *role,
				    struct arena *arena)
{
	Mesos__Resource *r = make_reserved_disk(role, arena);

	r->disk =
		PROTO_NEW(arena, Mesos__Resource__DiskInfo, mesos__resource__disk_info__descriptor);
	r->disk->persistence = PROTO_NEW(arena, Mesos__Resource__DiskInfo__Persistence,
					 mesos__resource__disk_info__persistence__descriptor);
	r->disk->persistence->id =
		arena_printf(arena, "s%d-v%d", part->options.number, part->next_volume++);
	r->disk->volume = PROTO_NEW(arena, Mesos__Volume, mesos__volume__descriptor);
	r->disk->volume->mode = MESOS__VOLUME__MODE__RW;
	r->disk->volume->container_path = arena_strdup(arena, "data");
	return r;
}

static void add_resources(struct answer *answer, Mesos__Offer__Operation__Type type,
			  Mesos__Resource *resource)
{
	struct arena *arena = &answer->arena;
	Mesos__Offer__Operation *o = answer_add(answer, type);

	switch (type) {
	case MESOS__OFFER__OPERATION__TYPE__RESERVE:
		o->reserve = PROTO_NEW(arena, Mesos__Offer__Operation__Reserve,
				       mesos__offer__operation__reserve__descriptor);
		proto_push(arena, o->reserve->n_resources, o->reserve->resources, resource);
		break;
	case MESOS__OFFER__OPERATION__TYPE__UNRESERVE:
		o->unreserve = PROTO_NEW(arena, Mesos__Offer__Operation__Unreserve,
					 mesos__offer__operation__unreserve__descriptor);
		proto_push(arena, o->unreserve->n_resources, o->unreserve->resources, resource);
		break;
	case MESOS__OFFER__OPERATION__TYPE__CREATE:
		o->create = PROTO_NEW(arena, Mesos__Offer__Operation__Create,
				      mesos__offer__operation__create__descriptor);
		proto_push(arena, o->create->n_volumes, o->create->volumes, resource);
		break;
	default:
		o->destroy = PROTO_NEW(arena, Mesos__Offer__Operation__Destroy,
				       mesos__offer__operation__destroy__descriptor);
		proto_push(arena, o->destroy->n_volumes, o->destroy->volumes, resource);
		break;
	}
}

static bool is_reserved(const Mesos__Resource *r)
{
	return r->n_reservations > 0;
}

void answer_keep_volumes(struct scheduler_part *part, struct answer *answer,
			 const Mesos__Offer *offer)
{
	Mesos__Resource *volume = NULL, *plain = NULL;
	bool tidy = part->finishing || rng_unit(&part->rng) < 0.2;

	for (size_t i = 0; i < offer->n_resources; i++) {
		Mesos__Resource *r = offer->resources[i];

		if (is_reserved(r) && r->disk && r->disk->persistence)
			volume = r;
		else if (is_reserved(r))
			plain = r;
	}
	if (plain)
		add_resources(answer, MESOS__OFFER__OPERATION__TYPE__UNRESERVE, plain);
	if (volume && tidy) {
		add_resources(answer, MESOS__OFFER__OPERATION__TYPE__DESTROY, volume);
		add_resources(answer, MESOS__OFFER__OPERATION__TYPE__UNRESERVE,
			      make_reserved_disk(offer_role(offer), &answer->arena));
	} else if (!volume && !part->finishing && offer_scalar(offer, "disk") >= VOLUME_SIZE) {
		add_resources(answer, MESOS__OFFER__OPERATION__TYPE__RESERVE,
			      make_reserved_disk(offer_role(offer), &answer->arena));
		volume = make_volume(part, offer_role(offer), &answer->arena);
		add_resources(answer, MESOS__OFFER__OPERATION__TYPE__CREATE, volume);
		/* And thinks better of it. */
		if (rng_unit(&part->rng) < 0.1) {
			add_resources(answer, MESOS__OFFER__OPERATION__TYPE__DESTROY, volume);
			volume = NULL;
		}
	}
	answer_add_launch(part, answer, offer, tidy ? NULL : volume);
}
