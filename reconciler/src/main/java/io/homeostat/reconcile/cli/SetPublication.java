package io.homeostat.reconcile.cli;

import static java.util.Objects.requireNonNullElse;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import com.google.protobuf.ByteString;
import io.homeostat.desired.etcd.EtcdKeyValues;
import io.homeostat.desired.fleet.FleetKeys;
import io.homeostat.desired.fleet.PublishedSet;
import io.homeostat.desired.fleet.RefusedSet;
import io.homeostat.desired.fleet.SetFile;
import io.homeostat.desired.fleet.SetReader;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.platform.MetadataClient;
import io.homeostat.desired.platform.MetadataServer;
import io.homeostat.desired.remote.BucketClient;
import io.homeostat.desired.remote.BucketTarget;
import io.homeostat.desired.remote.EtcdTarget;
import io.homeostat.desired.remote.FileTarget;
import io.homeostat.desired.remote.GitTarget;
import io.homeostat.desired.remote.HttpsTarget;
import io.homeostat.desired.remote.SetTarget;
import io.homeostat.desired.signature.KeyFailure;
import io.homeostat.desired.signature.SigningKey;
import io.homeostat.desired.signature.TrustedKeys;
import io.homeostat.desired.yaml.DocumentReader.Input;
import io.homeostat.desired.yaml.DocumentReader.ReadResult;
import io.homeostat.desired.yaml.DocumentReader.Texts;
import io.homeostat.reconcile.command.DocumentTexts;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.Environment.Interrupts;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.UsageException;
import io.homeostat.reconcile.command.environment.UserDirectories;
import io.homeostat.reconcile.command.fleet.Publication;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.eclipse.jgit.lib.PersonIdent;
import org.jspecify.annotations.Nullable;

/** Publishes what is typed as a set for many machines. */
record SetPublication(Invocation typed) {
    private static final Duration NOT_POLLED = Duration.ofDays(1);

    private static final AgentConfig.Bucket ANY_BUCKET =
            new AgentConfig.Bucket("", null, AgentConfig.Identity.Known.METADATA, null, "us-east-1", NOT_POLLED);

    int run() throws InterruptedException {
        Arguments arguments = typed.arguments();
        Optional<SigningKey> key = arguments.text(Syntax.KEY).map(this::key);
        String fleet = fleet();
        AgentConfig.SignedSets rules = typed.configFile().read().signatures().documents();
        // Machines of another fleet have rules of their own.
        Optional<SetReader> reader = fleet.equals(rules.fleet()) ? Optional.of(reader(rules)) : Optional.empty();
        Publication publication = new Publication(
                fleet,
                documents(),
                key,
                reader.map(SetReader::keys).orElse(TrustedKeys.NONE),
                arguments.flag(Syntax.FORCE),
                typed.environment().clock().instant().truncatedTo(ChronoUnit.SECONDS));
        reader.ifPresent(machines -> requireTrusted(machines, publication));
        boolean dryRun = arguments.flag(Syntax.DRY_RUN);
        try (MetadataClient metadata = typed.environment().metadata();
                SetTarget target = target(arguments.text(Syntax.TO).orElse(""), metadata);
                Interrupts.Guard _ = typed.environment().interrupts().guard()) {
            print(publication, publication.to(target, dryRun), target.name(), dryRun);
        }
        return ExitStatus.OK;
    }

    private static SetReader reader(AgentConfig.SignedSets rules) {
        try {
            return SetReader.of(rules);
        } catch (KeyFailure e) {
            throw new CommandFailure(String.valueOf(e.getMessage()), e);
        }
    }

    /** Machines with this agent.yaml have to take it. */
    private void requireTrusted(SetReader machines, Publication publication) {
        try {
            SetFile set =
                    SetFile.of(publication.fleet(), 1, publication.now(), publication.documents(), publication.key());
            PublishedSet _ = machines.read(ByteString.copyFrom(set.bytes()), "set.yaml");
        } catch (RefusedSet e) {
            throw new CommandFailure(
                    "nothing was published, as machines with "
                            + typed.configFile().path() + " would refuse it: " + e.getMessage(),
                    e);
        }
    }

    private void print(Publication publication, Publication.Outcome outcome, String where, boolean dryRun) {
        Console console = typed.console();
        if (console.json()) {
            Json.print(
                    console.out(),
                    Json.versioned()
                            .put("target", where)
                            .put("fleet", publication.fleet())
                            .put("sequence", outcome.sequence())
                            .put("documents", publication.documents().size())
                            .put("signed", publication.key().isPresent())
                            .put("changed", outcome.changed())
                            .put("dryRun", dryRun));
            return;
        }
        int count = publication.documents().size();
        String files = count == 1 ? "1 file" : count + " files";
        console.out()
                .println(
                        !outcome.changed()
                                ? "published already: " + files + ", sequence " + outcome.sequence() + ", in " + where
                                : (dryRun ? "would publish " : "published ") + files + " as sequence "
                                        + outcome.sequence() + " to " + where);
    }

    private String fleet() {
        String fleet = typed.arguments()
                .text(Syntax.FLEET)
                .orElseGet(
                        () -> typed.configFile().read().signatures().documents().fleet());
        if (!AgentConfig.SignedSets.isFleet(fleet)) {
            throw new UsageException(
                    Syntax.FLEET + ": '" + fleet + "' is no name; write " + AgentConfig.SignedSets.FLEET_IN_WORDS);
        }
        return fleet;
    }

    private SigningKey key(String file) {
        try {
            return SigningKey.read(new UserDirectories(typed.environment()).absolute(Syntax.KEY, file));
        } catch (KeyFailure e) {
            throw new CommandFailure(String.valueOf(e.getMessage()), e);
        }
    }

    /**
     * Documents as they are published.
     *
     * @param read what they say; all of them are valid together
     */
    record Documents(Texts texts, ReadResult read) {}

    /**
     * Those of {@code -f}.
     *
     * @param consequence of errors, such as {@code nothing was published}
     */
    static Documents documents(Invocation typed, String consequence) {
        if (typed.arguments().files().contains(DocumentTexts.STANDARD_INPUT)) {
            throw new UsageException("what is published has names; write files, and not -");
        }
        Texts read = typed.paths().read();
        // On machines there are no files beside them.
        Texts texts = new Texts(
                read.texts().stream()
                        .map(text -> new Input.Text(text.name(), text.input(), null, text.text()))
                        .collect(ImmutableList.toImmutableList()),
                read.errors());
        ReadResult parsed = typed.environment().documents().parse(texts);
        Console console = typed.console();
        parsed.warnings().forEach(console::warn);
        if (!parsed.valid()) {
            if (!console.json()) {
                parsed.errors().forEach(console.err()::println);
                console.err().flush();
            }
            int errors = parsed.errors().size();
            throw new CommandFailure(
                    (errors == 1 ? "1 error" : errors + " errors") + ", so " + consequence + "; correct the files",
                    parsed.errors());
        }
        if (parsed.workloads().isEmpty()) {
            throw new CommandFailure(DocumentTexts.noDocument(typed.arguments().files()) + ", so " + consequence
                    + ": every machine would remove what was published before");
        }
        return new Documents(texts, parsed);
    }

    /** The texts by their paths below what was given. */
    private ImmutableSortedMap<String, String> documents() {
        Texts texts = documents(typed, "nothing was published").texts();
        Map<String, String> named = new TreeMap<>();
        for (Input.Text text : texts.texts()) {
            String name = name(text);
            if (named.putIfAbsent(name, text.text()) != null) {
                throw new CommandFailure("there are two files that would be published as " + name + "; rename one");
            }
        }
        return ImmutableSortedMap.copyOf(named);
    }

    private static String name(Input.Text text) {
        Path input = Path.of(text.input());
        Path file = Path.of(text.name());
        String name = (file.equals(input) ? file.getFileName() : input.relativize(file)).toString();
        if (!SetFile.isDocument(name)) {
            throw new CommandFailure(file
                    + " can't be published under its name; have it end with .yaml or .yml, without a dot in front");
        }
        return name;
    }

    private SetTarget target(String to, MetadataServer metadata) {
        AgentConfig.Sources sources = typed.configFile().read().sources();
        return switch (to) {
            case "git" ->
                new GitTarget(
                        configured(sources.git(), SourceName.GIT),
                        FirstDocument.temporary(typed.environment()),
                        new PersonIdent(
                                "homeostat publish",
                                "homeostat@localhost",
                                typed.environment().clock().instant(),
                                ZoneOffset.UTC));
            case "bucket" -> {
                AgentConfig.Bucket bucket = configured(sources.bucket(), SourceName.BUCKET);
                yield bucket(bucket.url(), bucket, metadata);
            }
            case "etcd" -> etcd(configured(sources.etcd(), SourceName.ETCD));
            case "https" -> new HttpsTarget(configured(sources.https(), SourceName.HTTPS));
            default ->
                to.startsWith("gs://") || to.startsWith("s3://")
                        ? bucket(to, requireNonNullElse(sources.bucket(), ANY_BUCKET), metadata)
                        : named(to);
        };
    }

    private <T> T configured(@Nullable T source, SourceName name) {
        if (source == null) {
            throw new CommandFailure(typed.configFile().path() + " has no sources." + name.word()
                    + "; add it, name another file with " + Syntax.CONFIG + ", or write a URL");
        }
        return source;
    }

    private static SetTarget etcd(AgentConfig.Etcd etcd) {
        return new EtcdTarget(new EtcdKeyValues(etcd), new FleetKeys(etcd.prefix()));
    }

    /** @param config who we are there, and where that is */
    private SetTarget bucket(String object, AgentConfig.Bucket config, MetadataServer metadata) {
        return new BucketTarget(
                object, new BucketClient(config, metadata, typed.environment().clock()));
    }

    private static SetTarget named(String to) {
        try {
            URI url = new URI(to);
            String scheme = url.getScheme() == null ? "" : url.getScheme();
            if (scheme.equals("file") && url.getPath() != null && url.getAuthority() == null) {
                return new FileTarget(Path.of(url.getPath()));
            }
            if ((scheme.equals("https") || scheme.equals("http")) && url.getHost() != null) {
                return new HttpsTarget(
                        new AgentConfig.Https(to, null, null, NOT_POLLED),
                        "publish with " + Syntax.TO + " https, which uses sources.https of agent.yaml");
            }
        } catch (URISyntaxException e) {
            // It may have a password, so nothing of it is said.
        }
        throw new UsageException(
                Syntax.TO + ": write git, bucket, etcd or https for what agent.yaml has, a gs, s3 or https URL,"
                        + " or file:///PATH of a file");
    }
}
