package io.homeostat.desired.model;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import org.jspecify.annotations.Nullable;

/** What every kind of workload that is a program on this machine declares: what to run, and how to keep it running. */
public record Program(
        @Doc(
                "The revision to run, opaque to Homeostat. Another revision is an upgrade. May be left out when install is local.")
        @Default("local")
        @Matches(value = "[A-Za-z0-9._-]{1,64}", words = "1 to 64 letters, digits, '.', '_' or '-'")
        String revision,

        @Doc("The archive to install. Required when install is dynamic, refused when it is local.") @Nullable
        Source source,

        @Doc("The file to execute: a path inside the archive, absolute when install is local.")
        @Matches(value = "[^\\u0000]+", words = "a path")
        String entryPoint,

        @Doc("Arguments, handed to the program as they are; no shell reads them.")
        ImmutableList<String> arguments,

        @Doc("Environment variables, added to those of Homeostat.")
        @Keys(value = "[A-Za-z_][A-Za-z0-9_]*", words = "a letter or '_', then letters, digits or '_'")
        ImmutableSortedMap<String, String> env,

        @Doc("The user to run as; the user Homeostat runs as when left out.")
        @Matches(value = "[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}", words = "a user name or number")
        @Nullable
        String user,

        @Doc("dynamic: fetched and unpacked from source. local: already on disk.") @Default("dynamic")
        Install install,

        @Doc("Limits for the whole process tree, in force from its first instruction.")
        Limits limits,

        @Doc("How long a start may take and how often it is tried.")
        Start start,

        @Doc("How long a stop may take.") Stop stop,

        @Doc("How health is checked and when it counts as lost.")
        HealthCheck health,

        @Doc("When the program is started again after it ended.")
        Restart restart,

        @Doc("How CPU and memory of the process tree are sampled.")
        Metrics metrics,

        @Doc("When and how the program runs.") Execution execution,

        @Doc("Workloads that have to run well before this one is started, and are stopped after it.")
        @Matches(value = "(plugin|process)/[A-Za-z0-9][A-Za-z0-9._-]{0,62}", words = "plugin/NAME or process/NAME")
        ImmutableList<String> dependsOn,

        @Doc(
                "How many workloads with the same value of a label may be down because of changes; any number when left out.")
        @Nullable
        MaxDisruption maxDisruption,

        @Doc("When upgrades and other changes of what runs may be made; at any time when left out.") @Nullable
        MaintenanceWindow maintenanceWindow) {

    /** How the files of a program come to this machine. */
    public enum Install {
        DYNAMIC,
        LOCAL
    }
}
