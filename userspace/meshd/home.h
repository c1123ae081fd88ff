/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * On which machine the state folder is at home. A folder that was copied to
 * another machine makes two hosts of one UUID, and every target would grant
 * both what one of them holds. So meshd serves and attaches nothing there until
 * the administrator has said which of two things happened:
 *
 *                 machine file agrees, or says nothing yet
 *      (start) ------------------------------------------------> roles start
 *         | it names another machine                        ^          ^
 *         v                               identity accept   |          |
 *      refused: every other command fails ------------------'          |
 *         |                               identity new: another UUID,  |
 *         `------------------------------ an empty store --------------'
 */
#ifndef MESHD_HOME_H
#define MESHD_HOME_H

#include "userspace/meshd/control.h"

#define HOME_WORDS	64

/* After identity_load(). 0, also when it is refused, or a negative errno. */
int home_load(void);
bool home_refused(void);
/* This machine, for other hosts to distinguish two with one host UUID. */
void home_words(char out[HOME_WORDS]);
int cmd_host_identity(struct req *r);

#endif
