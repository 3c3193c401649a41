package io.homeostat.desired.model;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.schema.Fields.Default;
import io.homeostat.desired.model.schema.Fields.Doc;
import io.homeostat.desired.model.schema.Fields.Inline;
import io.homeostat.desired.model.schema.Fields.Keys;
import io.homeostat.desired.model.schema.Fields.Matches;
import org.jspecify.annotations.Nullable;

/** The program of a workload: its files, and how it is executed. */
public record Program(
        @Doc(
                "The revision to run, opaque to Homeostat. Another revision is an upgrade. May be left out when install is local.")
        @Default("local")
        @Matches(
                value = "[A-Za-z0-9._-]{1,64}",
                words = "1 to 64 letters, digits, '.', '_' or '-'",
                anyInMessages = true)
        String revision,

        @Doc("The archive to install. Required when install is dynamic, refused when it is local.") @Nullable
        Source source,

        @Doc("The file to execute: a path inside the archive, absolute when install is local.")
        @Matches(value = "[^\\u0000]+", words = "a path")
        String entryPoint,

        @Doc("Arguments, handed to the program as they are; no shell reads them.")
        ImmutableList<String> arguments,

        @Doc(
                "Environment variables, each a text or {file: PATH}; added to PATH, HOME, USER, LOGNAME, SHELL, LANG, HOMEOSTAT_LAUNCH_ID and HOMEOSTAT_WORKLOAD. Nothing else is inherited.")
        @Keys(value = "[A-Za-z_][A-Za-z0-9_]*", words = "a letter or '_', then letters, digits or '_'")
        ImmutableSortedMap<String, EnvValue> env,

        @Doc(
                "Files with more variables, a KEY=VALUE on each line, with comments (#) and optional quotes; absolute. Later ones win over earlier ones, and env over all. Read at each launch, and never stored; another content is a restart.")
        @Matches(value = "/[^\\u0000]*", words = "an absolute path")
        @Nullable
        ImmutableList<String> envFiles,

        @Doc("The user to run as; the user Homeostat runs as when left out.")
        @Matches(value = "[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}", words = "a user name or number")
        @Nullable
        String user,

        @Inline ProcessSettings settings,

        @Doc("How it is made to read files again whose contents have changed; never, when left out. Not for a oneShot.")
        @Nullable
        Reload reload,

        @Doc("dynamic: fetched and unpacked from source. local: already on disk.") @Default("dynamic")
        Install install) {

    /** The user to run as, with its groups; null for the user that Homeostat runs as. */
    public @Nullable ProgramUser runsAs() {
        ImmutableList<String> groups = settings.supplementaryGroups();
        return user == null
                ? null
                : new ProgramUser(user, settings.group(), groups == null ? ImmutableList.of() : groups);
    }

    /** How the files of a program come to this machine. */
    public enum Install {
        DYNAMIC,
        LOCAL
    }
}
