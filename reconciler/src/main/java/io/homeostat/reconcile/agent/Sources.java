package io.homeostat.reconcile.agent;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.source.FilesSource;
import io.homeostat.desired.source.LocalSource;
import io.homeostat.desired.source.Reading;
import io.homeostat.desired.source.Stored;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * The sources on this machine that a configuration names.
 *
 * @param defaultFiles where YAML is read from when the configuration doesn't say
 */
public record Sources(ImmutableList<Path> defaultFiles) {

    ImmutableMap<SourceName, Function<Stored, Reading>> of(AgentConfig config, InstantSource clock) {
        AgentConfig.Local local = config.sources().local();
        return ImmutableMap.of(
                SourceName.FILES,
                new FilesSource(files(config), clock)::read,
                SourceName.LOCAL,
                new LocalSource(paths(local.directories()), ImmutableSet.copyOf(local.disabled()), clock)::read);
    }

    /** Where a change of a file may be a change of what is declared. */
    ImmutableSet<Path> paths(AgentConfig config) {
        return Stream.concat(
                        files(config).stream(), paths(config.sources().local().directories()).stream())
                .collect(ImmutableSet.toImmutableSet());
    }

    private ImmutableList<Path> files(AgentConfig config) {
        List<String> files = config.sources().files();
        return files == null ? defaultFiles : paths(files);
    }

    private static ImmutableList<Path> paths(List<String> names) {
        return names.stream().map(Path::of).collect(ImmutableList.toImmutableList());
    }
}
