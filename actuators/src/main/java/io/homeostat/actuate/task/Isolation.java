package io.homeostat.actuate.task;

/** How a driver keeps its tasks apart from the host's files, which decides what the host has to make and what tasks are told. */
public enum Isolation {
    /** Not at all: tasks see the host's paths. */
    NONE,

    /** The task directory is the task's root; the host fills it. */
    CHROOT,

    /** The task has an image as its root, into which the driver mounts the directories. */
    IMAGE,

    /** Tasks see the host's paths, but only those that the driver reveals. */
    UNVEIL
}
