package io.homeostat.reconcile.cli;

import io.homeostat.desired.etcd.EtcdKeyValues;
import io.homeostat.desired.etcd.KeyValues;
import io.homeostat.desired.fleet.FleetKeys;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.signature.KeyFailure;
import io.homeostat.reconcile.agent.telemetry.AgentLog;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.Environment.Interrupts;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.output.Text;
import io.homeostat.reconcile.fleet.FleetController;
import io.homeostat.reconcile.fleet.PublishedRollouts;
import java.security.SecureRandom;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicReference;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A controller of a fleet, until it is told to end. At each SIGHUP it reads agent.yaml and the keys of sets again, and begins anew by them,
 * as another one would after its death. With a mistake in them it goes on as before.
 *
 * @param name by which people tell it from others
 */
record FleetControl(Invocation typed, String name) {
    private static final Logger LOG = LoggerFactory.getLogger(FleetControl.class);

    /** What it goes by. */
    private record Rules(AgentConfig config, AgentConfig.Etcd etcd, PublishedRollouts contents) {}

    int run() {
        Rules rules = read();
        AtomicReference<CompletableFuture<Void>> hungUp = new AtomicReference<>(new CompletableFuture<>());
        try (AgentLog log = AgentLog.use(
                        typed.environment().err(), rules.config().log().format(), level(rules));
                Interrupts.Guard _ = typed.environment()
                        .interrupts()
                        .daemon(() -> hungUp.get().complete(null))) {
            while (true) {
                rules = control(rules, hungUp);
                log.change(rules.config().log().format(), level(rules));
                if (Thread.interrupted()) {
                    throw new InterruptedException();
                }
            }
        } catch (InterruptedException e) {
            // Told to end, which it has done.
            return ExitStatus.OK;
        }
    }

    private AgentConfig.Log.Level level(Rules rules) {
        return typed.arguments().global().logLevel().orElse(rules.config().log().level());
    }

    private Rules read() {
        AgentConfig config = typed.configFile().read();
        try {
            return new Rules(config, FleetOperation.etcd(typed, config), PublishedRollouts.of(config));
        } catch (KeyFailure e) {
            throw new CommandFailure(String.valueOf(e.getMessage()), e);
        }
    }

    private Optional<Rules> again() {
        try {
            Rules now = read();
            LOG.info("{} was read again", typed.configFile().path());
            return Optional.of(now);
        } catch (CommandFailure e) {
            // The file's errors are on lines of their own.
            LOG.error(
                    "{}; the controller goes on as before",
                    Text.oneLine(String.valueOf(e.getMessage()).replaceFirst("\n", ": ")));
            return Optional.empty();
        }
    }

    /** Goes by these until there are others, which it returns. */
    private Rules control(Rules rules, AtomicReference<CompletableFuture<Void>> hungUp) throws InterruptedException {
        try (KeyValues store = new EtcdKeyValues(rules.etcd());
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            FleetController controller = new FleetController(
                    store,
                    new FleetKeys(rules.etcd().prefix()),
                    rules.contents(),
                    name,
                    typed.environment().clock(),
                    typed.environment().ticker(),
                    new SecureRandom());
            CompletableFuture<Void> running = new CompletableFuture<>();
            threads.execute(() -> {
                try {
                    controller.run();
                } catch (InterruptedException e) {
                    running.complete(null);
                } catch (RuntimeException | Error e) {
                    running.completeExceptionally(e);
                }
            });
            try {
                while (true) {
                    CompletableFuture.anyOf(hungUp.get(), running).get();
                    // Before it is read: of what changes afterwards it is told again.
                    hungUp.set(new CompletableFuture<>());
                    Optional<Rules> next = again();
                    if (next.isPresent()) {
                        return next.get();
                    }
                }
            } catch (ExecutionException e) {
                throw new IllegalStateException("the controller has failed", e.getCause());
            } finally {
                // It gives up leading, which is waited for.
                threads.shutdownNow();
            }
        }
    }
}
