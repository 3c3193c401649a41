package io.homeostat.reconcile.command.diagnostics;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.StateReader.SourceProblem;
import io.homeostat.desired.state.StoreException;
import io.homeostat.desired.state.StoredSet;
import io.homeostat.desired.state.sqlite.StateStores;
import io.homeostat.reconcile.command.diagnostics.Doctor.Finding;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Sources of published sets: whether the files can be read that they need, and how an agent last found them. Asks none of them. */
public final class SetChecks {
    private final AgentConfig config;
    private final Map<SourceName, StoredSet.Standing> standings = new TreeMap<>();
    private ImmutableList<SourceProblem> problems = ImmutableList.of();

    private SetChecks(AgentConfig config) {
        this.config = config;
    }

    /** A finding for each source of sets that is configured. */
    public static ImmutableList<Finding> look(AgentConfig config, Layout layout) {
        SetChecks checks = new SetChecks(config);
        checks.remember(layout);
        return checks.look();
    }

    private void remember(Layout layout) {
        try {
            Optional<StateReader> opened = StateStores.openForReading(layout);
            if (opened.isPresent()) {
                try (StateReader reader = opened.get()) {
                    reader.publishedSets().forEach(one -> standings.put(one.source(), one));
                    problems = reader.problems();
                }
            }
        } catch (StoreException e) {
            // The check of the database says so.
            standings.clear();
        }
    }

    private ImmutableList<Finding> look() {
        List<Finding> found = new ArrayList<>();
        AgentConfig.Etcd etcd = config.sources().etcd();
        if (etcd != null) {
            found.add(look(SourceName.ETCD, files(etcd.login(), etcd.tls(), null, ImmutableList.of())));
        }
        AgentConfig.Bucket bucket = config.sources().bucket();
        if (bucket != null) {
            String file = bucket.credentials() instanceof AgentConfig.Identity.TokenFile named ? named.file() : null;
            found.add(look(SourceName.BUCKET, files(null, null, file, ImmutableList.of())));
        }
        AgentConfig.Https https = config.sources().https();
        if (https != null) {
            found.add(look(SourceName.HTTPS, files(null, https.tls(), https.tokenFile(), ImmutableList.of())));
        }
        AgentConfig.Git git = config.sources().git();
        if (git != null) {
            found.add(look(SourceName.GIT, files(git.login(), git.tls(), null, git.signedBy())));
        }
        return ImmutableList.copyOf(found);
    }

    private ImmutableList<String> files(
            AgentConfig.@Nullable Login login,
            AgentConfig.@Nullable Tls tls,
            @Nullable String secret,
            ImmutableList<String> signedBy) {
        List<@Nullable String> all = new ArrayList<>(signedBy);
        all.addAll(config.signatures().documents().keys());
        all.add(secret);
        if (login != null) {
            all.add(login.passwordFile());
        }
        if (tls != null) {
            all.add(tls.ca());
            all.add(tls.certificate());
            all.add(tls.key());
        }
        ImmutableList.Builder<String> named = ImmutableList.builder();
        for (String file : all) {
            if (file != null) {
                named.add(file);
            }
        }
        return named.build();
    }

    private Finding look(SourceName source, ImmutableList<String> files) {
        String check = "source " + source.word();
        for (String file : files) {
            if (!Files.isReadable(Path.of(file))) {
                return Finding.fail(
                        check,
                        file + " is not there, or this user can't read it",
                        "put it there, or correct sources." + source.word() + " in agent.yaml");
            }
        }
        StoredSet.Standing standing = standings.get(source);
        Optional<SourceProblem> problem =
                problems.stream().filter(one -> one.source() == source).findFirst();
        if (problem.isPresent()) {
            return Finding.warn(
                    check, problem.get().message(), "the last good set stays in force; homeostat status shows more");
        }
        if (standing == null || standing.answeredAt().isEmpty()) {
            return Finding.warn(check, "no agent has had an answer of it yet", "start an agent, or reload it");
        }
        return Finding.ok(
                check,
                standing.name() + " last answered at " + standing.answeredAt().get()
                        + standing.set()
                                .map(set -> ", version " + set.version() + " is in force")
                                .orElse(""));
    }
}
