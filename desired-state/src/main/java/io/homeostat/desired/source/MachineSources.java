package io.homeostat.desired.source;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.platform.TrustedPath;
import io.homeostat.desired.state.StateReader.SourceProblem;
import io.homeostat.desired.state.StateReader.StoredDeclaration;
import io.homeostat.desired.state.StateStore.SourceContent;
import io.homeostat.desired.yaml.Choice;
import io.homeostat.desired.yaml.DocumentReader;
import io.homeostat.desired.yaml.DocumentReader.Input;
import io.homeostat.desired.yaml.DocumentReader.NotHere;
import io.homeostat.desired.yaml.Problem;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.List;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** The sources on this machine, as the agent's configuration names them. */
public final class MachineSources {
    private static final ImmutableSet<SourceName> SOURCES = ImmutableSet.of(SourceName.FILES, SourceName.LOCAL);

    private final ImmutableList<Path> files;
    private final ImmutableList<Path> plugins;
    private final ImmutableSet<String> disabled;
    private final TrustedPath trusted;
    private final Choice choice;

    /**
     * @param defaultFiles where YAML is read from unless the configuration says otherwise
     * @param choice which documents are for this machine
     * @param root whether root goes by them
     */
    public MachineSources(AgentConfig config, Supplier<ImmutableList<Path>> defaultFiles, Choice choice, boolean root) {
        this.choice = choice;
        AgentConfig.Local local = config.sources().local();
        this.trusted = TrustedPath.of(root, config.sources().owners());
        List<String> named = config.sources().files();
        this.files = named == null ? defaultFiles.get() : paths(named);
        this.plugins = paths(local.directories());
        this.disabled = ImmutableSet.copyOf(local.disabled());
    }

    private static ImmutableList<Path> paths(List<String> names) {
        return names.stream().map(Path::of).collect(ImmutableList.toImmutableList());
    }

    /** Where a change of a file may be a change of what is declared. */
    public ImmutableSet<Path> paths() {
        return Stream.concat(files.stream(), plugins.stream()).collect(ImmutableSet.toImmutableSet());
    }

    /**
     * How each is read: it is given what is stored of it, and returns what it declares.
     *
     * @param clock the one that files get their times from
     */
    public ImmutableMap<SourceName, Function<StoredWorkloads, SourceSnapshot>> readers(InstantSource clock) {
        return ImmutableMap.of(
                SourceName.FILES,
                new FilesSource(files, trusted, choice, clock)::read,
                SourceName.LOCAL,
                new LocalSource(plugins, trusted, disabled, choice, clock)::read);
    }

    /**
     * What they declare, read once, for whoever only looks. What is missing counts as withdrawn, also where an agent would wait a moment to
     * see whether it is only being replaced.
     *
     * @param stored of all sources
     * @param retained what stays in force, as if others read it
     */
    public ImmutableList<SourceContent> contents(
            ImmutableList<StoredDeclaration> stored, ImmutableSet<String> retained, InstantSource clock) {
        ImmutableList<StoredDeclaration> own = stored.stream()
                .filter(declaration -> !retained.contains(declaration.origin()))
                .collect(ImmutableList.toImmutableList());
        return readers(InstantSource.offset(clock, Retention.SETTLED)).entrySet().stream()
                .map(source -> source.getValue()
                        .apply(StoredWorkloads.of(source.getKey(), own))
                        .content()
                        .retaining(retained))
                .collect(ImmutableList.toImmutableList());
    }

    /** What root does not read of them, as others can change it; nothing for another user. */
    public ImmutableList<SourceProblem> untrusted(InstantSource clock) {
        return contents(ImmutableList.of(), ImmutableSet.of(), clock).stream()
                .flatMap(content -> content.problems().stream())
                .filter(problem -> problem.kind() == Problem.Kind.UNTRUSTED)
                .collect(ImmutableList.toImmutableList());
    }

    /** What they have for other machines, read now; {@link #contents} tells of files that are wrong. */
    public ImmutableList<NotHere> notHere(InstantSource clock) {
        ImmutableList<Input> inputs =
                files.stream().map(file -> new Input.Watched(file, trusted)).collect(ImmutableList.toImmutableList());
        return ImmutableList.<NotHere>builder()
                .addAll(DocumentReader.readAll(inputs, choice).leftOut())
                .addAll(new LocalSource(plugins, trusted, disabled, choice, clock).notHere())
                .build();
    }

    /** The files of which something is stored, and that other sources than these have read on this machine. */
    public ImmutableSet<String> readByOthers(ImmutableList<StoredDeclaration> stored) {
        return stored.stream()
                .filter(declaration -> SOURCES.contains(declaration.source()))
                .map(StoredDeclaration::origin)
                .filter(origin -> paths().stream().noneMatch(Path.of(origin)::startsWith))
                .collect(ImmutableSet.toImmutableSet());
    }
}
