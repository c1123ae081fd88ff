// SPDX-License-Identifier: GPL-2.0-only
/* May a disk become a drive, by command or by itself. Pure. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "userspace/agent/export.h"

/* A verdict in the making. */
struct judged {
	const struct export_disk *d;
	const struct export_request *r;
	const struct export_facts *f;
	char	*why;
	size_t	size;
};

static enum export_answer refuse(struct judged *j, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static enum export_answer refuse(struct judged *j, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(j->why, j->size, fmt, ap);
	va_end(ap);
	return EXPORT_REFUSED;
}

static const char *what(const struct export_disk *d, const char *other)
{
	return d->what[0] ? d->what : other;
}

/* World-wide id and serial are compared as they are: a device that says neither always says so. */
static bool is_same_device(const struct obj_drive *key, const struct obj_disk *d)
{
	return !strcmp(key->wwid, d->wwid) && !strcmp(key->serial, d->serial);
}

static enum export_answer lose_label(struct judged *j, const char *is)
{
	const char *path = j->d->disk.path;

	if (j->r->erase_label)
		return EXPORT_FRESH;
	return refuse(j, "%s %s. To lose all that is on it add --erase-label", path, is);
}

/* A label of this cluster, and no drive/D. One without extents names nothing that could be lost. */
static enum export_answer unknown(struct judged *j)
{
	const struct export_disk *d = j->d;

	if (d->bare || muuid_equal(&d->drive, &j->r->drive) || j->r->erase_label)
		return EXPORT_FRESH;
	return refuse(j, "%s is drive %s of this cluster, which the store does not know: 'meshctl cluster recover' "
		      "brings back what is on it. To lose all that is on it add --erase-label", d->disk.path,
		      muuid_str(&d->drive).s);
}

static enum export_answer other_host(struct judged *j)
{
	const struct obj_drive *key = j->f->key;
	const struct obj_host *h = j->f->former;
	const char *path = j->d->disk.path;
	char name[OBJ_TEXT];

	snprintf(name, sizeof(name), "%s", h ? h->name : muuid_str(&key->plan.host).s);
	if (key->plan.wanted == PLAN_OUT || (h && h->plan.removed))
		return EXPORT_MOVE;
	if (j->f->former_alive)
		return refuse(j, "%s is drive %s, which host %s exports and which has not left it: 'meshctl drive unexport "
			      "%s' first. If that host has the drive, this one is a copy of it", path,
			      muuid_str(&key->plan.uuid).s, name, muuid_str(&key->plan.uuid).s);
	return refuse(j, "%s is drive %s of host %s, which is not alive: start that host and unexport the drive "
		      "there, or, if it does not come back, 'meshctl host remove %s --lost'", path,
		      muuid_str(&key->plan.uuid).s, name, name);
}

static enum export_answer known(struct judged *j)
{
	const struct export_disk *d = j->d;
	const struct obj_drive *key = j->f->key;

	if (key->plan.wanted == PLAN_FORGOTTEN)
		return lose_label(j, "is a drive that was forgotten, and is not taken up again");
	if (!is_same_device(key, &d->disk)) {
		char is[OBJ_WORDS];

		snprintf(is, sizeof(is), "has the label of drive %s, and is another device: a copy of it",
			 muuid_str(&d->drive).s);
		return lose_label(j, is);
	}
	if (key->lba != d->disk.lba) {
		char is[OBJ_WORDS];

		snprintf(is, sizeof(is), "has the label of drive %s, of blocks of %u bytes, and has blocks of %u: its "
			 "volumes cannot be written there", muuid_str(&d->drive).s, key->lba, d->disk.lba);
		return lose_label(j, is);
	}
	if (key->local != j->r->local)
		return refuse(j, "%s is drive %s, %s, and never both. Unexport it first", d->disk.path,
			      muuid_str(&d->drive).s, key->local ? "a local one of its host" : "an exported one");
	return muuid_equal(&key->plan.host, &j->f->self->plan.uuid) ? EXPORT_AGAIN : other_host(j);
}

static enum export_answer labelled(struct judged *j)
{
	const struct export_disk *d = j->d;
	const struct obj_cluster *c = j->f->cluster;

	if (!muuid_equal(&d->cluster, &c->plan.uuid))
		return lose_label(j, "is a drive of another cluster: unexport it there");
	if (d->generation > c->plan.generation)
		return refuse(j, "the label of %s is of generation %u of the store, which is at %u: the store was put "
			      "back. 'meshctl cluster recover' first", d->disk.path, d->generation,
			      c->plan.generation);
	if (j->f->key_refused)
		return refuse(j, "what the store says of drive %s, which is on %s, cannot be read: install the version "
			      "of the other hosts", muuid_str(&d->drive).s, d->disk.path);
	return j->f->key ? known(j) : unknown(j);
}

static enum export_answer by_content(struct judged *j)
{
	const struct export_disk *d = j->d;

	switch (d->found) {
	case EXPORT_EMPTY:
		return EXPORT_FRESH;
	case EXPORT_FOREIGN:
		return j->r->force ? EXPORT_FRESH :
		       refuse(j, "%s %s. To erase that add --force", d->disk.path, what(d, "is not empty"));
	case EXPORT_DAMAGED:
		return lose_label(j, "was a drive, and its label is damaged: 'meshctl drive restore-label' puts a copy of "
				  "it back");
	case EXPORT_STRANGER:
		return lose_label(j, "is a drive of another cluster, or of none: unexport it there");
	case EXPORT_LABEL:
		return labelled(j);
	default:
		return refuse(j, "%s cannot be exported: %s", d->disk.path, what(d, "it is in use"));
	}
}

/* As the codec of drive/D, and the label, want it. */
static bool is_fit(const struct obj_disk *d)
{
	return d->size >= 3 * LABEL_AREA && (d->lba == 512 || d->lba == 4096);
}

enum export_answer export_verdict(const struct export_disk *d, const struct export_request *r,
				  const struct export_facts *f, char *why, size_t size)
{
	struct judged j = { d, r, f, why, size };

	why[0] = 0;
	if (!f->cluster || !f->self)
		return refuse(&j, "the store does not say which cluster this is, or not what this host is: try again "
			      "when 'meshctl host list' shows it");
	if (f->self->plan.role == PLAN_CLIENT && !r->local)
		return refuse(&j, "host %s is a client, which exports no drives: --local makes it a drive for volumes of "
			      "its own, or let the host join again as a storage host", f->self->name);
	if (d->found == EXPORT_USED || d->found == EXPORT_UNFIT)
		return by_content(&j);
	if (!is_fit(&d->disk))
		return refuse(&j, "%s cannot be exported: it has %llu bytes in blocks of %u, and a drive needs 3 MiB in "
			      "blocks of 512 or 4096", d->disk.path, (unsigned long long)d->disk.size, d->disk.lba);
	if (d->network && !r->force)
		return refuse(&j, "%s is reached by a network, by which other hosts may use it, too. To export it "
			      "nevertheless add --force", d->disk.path);
	return by_content(&j);
}

static bool not_taken(char *why, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static bool not_taken(char *why, size_t size, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, size, fmt, ap);
	va_end(ap);
	return false;
}

/* A label of this cluster: what of the store speaks against it? NULL: nothing. */
static const char *against(const struct export_disk *d, const struct obj_drive *key, const struct muuid *host,
			   const struct obj_cluster *c)
{
	if (d->generation > c->plan.generation)
		return "its label is of a later generation than the store, which was put back: 'meshctl cluster recover'";
	if (!key)
		return "the store does not know it: 'meshctl cluster recover' brings back what is on it, 'meshctl drive "
		       "export --erase-label' loses that";
	if (key->plan.wanted == PLAN_FORGOTTEN)
		return "it was forgotten: 'meshctl drive export --erase-label' makes it a new drive";
	if (!is_same_device(key, &d->disk))
		return "it is another device than the one with this label: a copy of it";
	if (key->lba != d->disk.lba)
		return "it has blocks of another size than the drive: it was formatted again, or is a copy";
	if (!muuid_equal(&key->plan.host, host))
		return "it is another host's: 'meshctl drive export' here, once it has left that one";
	if (key->plan.wanted == PLAN_OUT)
		return "it was unexported: 'meshctl drive export' takes it up again";
	if (!muuid_equal(&d->owner, host))
		return "its label names another host: 'meshctl drive export' takes it over";
	return d->network ? "it is reached by a network: 'meshctl drive export --force' takes it up again" : NULL;
}

bool export_take(const struct export_disk *d, const struct obj_drive *key, const struct muuid *host,
		 const struct obj_cluster *c, char *why, size_t size)
{
	const char *no;

	why[0] = 0;
	if (d->found == EXPORT_DAMAGED)
		return not_taken(why, size, "%s was a drive, and its label is damaged: 'meshctl drive restore-label' puts a "
				 "copy of it back", d->disk.path);
	if (d->found == EXPORT_STRANGER || (d->found == EXPORT_LABEL && c && !muuid_equal(&d->cluster, &c->plan.uuid)))
		return not_taken(why, size, "%s is a drive of another cluster, or of none, and is not taken up", d->disk.path);
	if (d->found != EXPORT_LABEL)
		return false;
	if (!c)
		return not_taken(why, size, "%s is not taken up before the store says which cluster this is", d->disk.path);
	no = against(d, key, host, c);
	return no ? not_taken(why, size, "%s has the label of drive %s, and is not taken up: %s", d->disk.path,
			      muuid_str(&d->drive).s, no) : true;
}

bool export_take_alone(const struct export_disk *d, const struct plan_seen *seen, const struct muuid *host,
		       char *why, size_t size)
{
	const char *no = NULL;

	why[0] = 0;
	if (d->found != EXPORT_LABEL && d->found != EXPORT_STRANGER)
		return false;
	if (muuid_null(&seen->cluster) || !muuid_equal(&d->cluster, &seen->cluster))
		no = "its cluster is not the one that this host has followed";
	else if (d->generation > seen->generation)
		no = "its label is of a later generation than the store that this host has followed";
	else if (!muuid_equal(&d->owner, host))
		no = "its label names another host";
	else if (d->left)
		no = "it was unexported";
	else if (d->network)
		no = "it is reached by a network";
	else if (!d->known)
		no = "this host has no file of the device that the drive was on";
	else if (strcmp(d->known_wwid, d->disk.wwid) || strcmp(d->known_serial, d->disk.serial))
		no = "it is another device than the one with this label: a copy of it";
	return no ? not_taken(why, size, "%s has the label of drive %s, and is not taken up while the store is away: %s",
			      d->disk.path, muuid_str(&d->drive).s, no) : true;
}
