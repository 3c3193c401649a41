package io.homeostat.desired.source;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.protobuf.InvalidProtocolBufferException;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.TrustedPath;
import io.homeostat.desired.yaml.Choice;
import io.homeostat.desired.yaml.DocumentReader;
import io.homeostat.desired.yaml.DocumentReader.Input;
import io.homeostat.desired.yaml.DocumentReader.NotHere;
import io.homeostat.desired.yaml.DocumentReader.ReadResult;
import io.homeostat.desired.yaml.DocumentReader.ReadWorkload;
import io.homeostat.desired.yaml.IoReason;
import io.homeostat.desired.yaml.Problem.Kind;
import io.homeostat.proto.acp.ConfigurePluginStates.ConfigurePlugin;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The source {@code local}: plugins that packages installed, each with its manifest beside it, {@code manifest.binpb} (a
 * serialized {@code ConfigurePlugin}) or {@code manifest.yaml}. Reads the disk and nothing else, like {@link FilesSource}.
 */
public final class LocalSource {
    /** The longest binary manifest that is read, in bytes. */
    static final int MAX_BYTES = 1 << 20;

    private static final String BINARY = "manifest.binpb";
    private static final String YAML = "manifest.yaml";

    private final ImmutableList<Path> directories;
    private final TrustedPath trusted;
    private final ImmutableSet<String> disabled;
    private final Choice choice;
    private final InstantSource clock;
    private final Absences absences = new Absences();

    /**
     * @param directories with one directory per plugin
     * @param trusted who may change what is there
     * @param disabled names of workloads that are not declared although they are there
     * @param choice which documents are for this machine
     * @param clock the one that files get their times from
     */
    public LocalSource(
            ImmutableList<Path> directories,
            TrustedPath trusted,
            ImmutableSet<String> disabled,
            Choice choice,
            InstantSource clock) {
        this.directories = directories.stream().map(Path::toAbsolutePath).collect(ImmutableList.toImmutableList());
        this.trusted = trusted;
        this.disabled = disabled;
        this.choice = choice;
        this.clock = clock;
    }

    /** What the manifests declare now; see {@link FilesSource#read}. The origin of a workload is the absolute path of its manifest. */
    public synchronized SourceSnapshot read(StoredWorkloads stored) {
        return new Pass(stored).reading();
    }

    /** What manifests say that is not for this machine. */
    ImmutableList<NotHere> notHere() {
        Pass look = new Pass(StoredWorkloads.of(SourceName.LOCAL, ImmutableList.of()));
        SourceSnapshot _ = look.reading();
        return ImmutableList.copyOf(look.notHere);
    }

    /** One look at all directories. */
    private final class Pass {
        private final StoredWorkloads stored;
        private final Retention retention;
        private final Map<WorkloadId, String> declared = new HashMap<>();
        private final List<NotHere> notHere = new ArrayList<>();
        private final TrustedPath.Walk walk = trusted.walk();

        Pass(StoredWorkloads stored) {
            this.stored = stored;
            this.retention = new Retention(SourceName.LOCAL, directories, stored, disabled, absences, clock.instant());
        }

        SourceSnapshot reading() {
            for (Path directory : directories) {
                if (retention.isThere(directory)) {
                    children(directory).forEach(this::plugin);
                }
            }
            return retention.reading();
        }

        private List<Path> children(Path directory) {
            List<Path> children = new ArrayList<>();
            try (DirectoryStream<Path> stream = Files.newDirectoryStream(directory)) {
                stream.forEach(children::add);
            } catch (IOException | DirectoryIteratorException e) {
                problem(directory, Kind.UNREADABLE, "the directory can't be read: " + IoReason.of(e));
            }
            Collections.sort(children);
            return children;
        }

        private void plugin(Path directory) {
            if (directory.getFileName().toString().startsWith(".")) {
                return;
            }
            if (Files.isSymbolicLink(directory)) {
                if (Files.isDirectory(directory) || stored.anyBelow(directory)) {
                    problem(directory, Kind.LINK, "a symbolic link; put the plugin's directory itself here");
                }
                return;
            }
            if (Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS)) {
                Path binary = directory.resolve(BINARY);
                if (isThere(binary)) {
                    binary(binary);
                }
                Path yaml = directory.resolve(YAML);
                if (isThere(yaml)) {
                    yaml(yaml);
                }
            }
        }

        private boolean isThere(Path manifest) {
            try {
                if (!Files.readAttributes(manifest, BasicFileAttributes.class).isRegularFile()) {
                    problem(manifest, Kind.NO_FILE, "not a file; remove it");
                    return false;
                }
                Optional<TrustedPath.Objection> found = walk.objection(manifest);
                found.ifPresent(objection -> problem(manifest, Kind.UNTRUSTED, objection.ofDocuments()));
                return found.isEmpty();
            } catch (NoSuchFileException e) {
                if (Files.isSymbolicLink(manifest)) {
                    problem(manifest, Kind.LINK, "a symbolic link to nothing; remove it or restore its target");
                }
            } catch (IOException e) {
                problem(manifest, Kind.UNREADABLE, "can't be read: " + IoReason.of(e));
            }
            return false;
        }

        private void binary(Path file) {
            try (InputStream in = Files.newInputStream(file)) {
                byte[] bytes = in.readNBytes(MAX_BYTES + 1);
                if (bytes.length > MAX_BYTES) {
                    problem(
                            file,
                            Kind.TOO_LARGE,
                            "is longer than " + (MAX_BYTES >> 20) + " MiB, so it is no manifest; replace it");
                    return;
                }
                ManifestReader.Result result = ManifestReader.installed(ConfigurePlugin.parseFrom(bytes));
                result.problems()
                        .forEach(found ->
                                retention.problem(file.toString(), Kind.VALUE, found.field(), file + ": " + found));
                result.workload().ifPresent(workload -> declare(workload, file.toString(), file.toString()));
            } catch (InvalidProtocolBufferException e) {
                problem(file, Kind.SYNTAX, "not a serialized ConfigurePlugin message; install the package again");
            } catch (IOException e) {
                problem(file, Kind.UNREADABLE, "can't be read: " + IoReason.of(e));
            }
        }

        private void yaml(Path file) {
            ReadResult read = DocumentReader.readAll(List.of(new Input.Watched(file, trusted)), choice);
            read.errors().forEach(retention::problem);
            read.leftOut().stream()
                    .filter(found ->
                            !disabled.contains(found.read().workload().id().name()))
                    .forEach(notHere::add);
            for (ReadWorkload found : read.workloads()) {
                declare(found.workload(), found.file(), found.origin());
            }
        }

        /** @param place of the declaration, for the errors of others */
        private void declare(Workload workload, String origin, String place) {
            if (disabled.contains(workload.id().name())) {
                return;
            }
            String first = declared.putIfAbsent(workload.id(), place);
            if (first == null) {
                retention.declared(workload, origin);
            } else {
                retention.problem(
                        origin,
                        Kind.DUPLICATE,
                        workload.id().toString(),
                        place + ": " + workload.id() + " is declared twice, first at " + first
                                + "; remove or rename one");
            }
        }

        private void problem(Path path, Kind kind, String message) {
            retention.problem(path.toString(), kind, "", path + ": " + message);
        }
    }
}
