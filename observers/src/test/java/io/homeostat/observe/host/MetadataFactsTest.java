package io.homeostat.observe.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Lifecycle.Rule.Scope;
import io.homeostat.desired.platform.MetadataServer.Answer;
import io.homeostat.observe.Observation;
import io.homeostat.observe.host.HostFacts.HostFact;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MetadataFactsTest {
    private static final Answer UNREACHABLE = new Answer.Unreachable("no connection");

    private final Map<String, Answer> answers = new ConcurrentHashMap<>();
    private final List<String> asked = new CopyOnWriteArrayList<>();
    private final AtomicLong nanos = new AtomicLong();
    private final MetadataFacts facts = new MetadataFacts(
            path -> {
                asked.add(path);
                return answers.getOrDefault(path, new Answer.Absent());
            },
            nanos::get);

    @ParameterizedTest
    @CsvSource({
        "INSTANCE, id,                       instance/id",
        "INSTANCE, attributes/tier,          instance/attributes/tier",
        "INSTANCE, /instance/name/,          instance/name",
        "METADATA, tier,                     instance/attributes/tier",
        "METADATA, instance/attributes/tier, instance/attributes/tier",
        "METADATA, project/attributes/tier,  project/attributes/tier",
        "METADATA, project/project-id,       project/project-id",
    })
    void anAttributeIsAPath(Scope scope, String attribute, String path) {
        answers.put(path, new Answer.Present("v"));

        assertEquals(Observation.seen(Optional.of("v")), facts.get(new HostFact(scope, attribute)));
    }

    @Test
    void theInstancesOwnAttributeWinsOverItsProjects() {
        answers.put("project/attributes/tier", new Answer.Present("p"));
        HostFact tier = new HostFact(Scope.METADATA, "tier");

        assertEquals(Observation.seen(Optional.of("p")), facts.get(tier));

        answers.put("instance/attributes/tier", new Answer.Present("i"));
        pass(MetadataFacts.KNOWN);
        assertEquals(Observation.seen(Optional.of("i")), facts.get(tier));
    }

    @Test
    void whatIsInNeitherPlaceIsAbsent() {
        assertEquals(Observation.seen(Optional.empty()), facts.get(new HostFact(Scope.METADATA, "tier")));
        assertEquals(List.of("instance/attributes/tier", "project/attributes/tier"), asked);
    }

    @Test
    void whatIsNotKnownOfTheInstanceIsNotTakenFromTheProject() {
        answers.put("instance/attributes/tier", UNREACHABLE);
        answers.put("project/attributes/tier", new Answer.Present("p"));

        Observation<Optional<String>> tier = facts.get(new HostFact(Scope.METADATA, "tier"));

        assertEquals(
                "no connection",
                assertInstanceOf(Observation.Unseen.class, tier).why());
    }

    @Test
    void machineTypeAndZoneAreNamesWithoutTheirProject() {
        answers.put("instance/machine-type", new Answer.Present("projects/1/machineTypes/e2-small"));
        answers.put("instance/zone", new Answer.Present("projects/1/zones/z"));

        assertEquals(
                Observation.seen(Optional.of("e2-small")), facts.get(new HostFact(Scope.INSTANCE, "machine-type")));
        assertEquals(Observation.seen(Optional.of("z")), facts.get(new HostFact(Scope.INSTANCE, "zone")));
        assertEquals(
                Observation.seen(Optional.of("projects/1/zones/z")),
                facts.get(new HostFact(Scope.METADATA, "instance/zone")));
    }

    @Test
    void aChangeIsNoticedAfterAWhileAndAnOutageIsOverSooner() {
        HostFact name = new HostFact(Scope.INSTANCE, "name");
        answers.put("instance/name", UNREACHABLE);
        assertInstanceOf(Observation.Unseen.class, facts.get(name));
        answers.put("instance/name", new Answer.Present("a"));
        assertInstanceOf(Observation.Unseen.class, facts.get(name));

        pass(MetadataFacts.UNKNOWN);
        assertEquals(Observation.seen(Optional.of("a")), facts.get(name));
        answers.put("instance/name", new Answer.Present("b"));
        pass(MetadataFacts.UNKNOWN);
        assertEquals(Observation.seen(Optional.of("a")), facts.get(name));

        pass(MetadataFacts.KNOWN);
        assertEquals(Observation.seen(Optional.of("b")), facts.get(name));
    }

    @Test
    void manyWhoAskAtOnceAreOneQuestion() throws Exception {
        CountDownLatch arrived = new CountDownLatch(1);
        CountDownLatch answer = new CountDownLatch(1);
        MetadataFacts slow = new MetadataFacts(
                path -> {
                    asked.add(path);
                    arrived.countDown();
                    answer.await();
                    return new Answer.Present("v");
                },
                nanos::get);
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            ImmutableList.Builder<Future<Observation<Optional<String>>>> all = ImmutableList.builder();
            for (int number = 0; number < 100; number++) {
                all.add(threads.submit(() -> slow.get(new HostFact(Scope.INSTANCE, "name"))));
            }
            arrived.await();
            answer.countDown();
            for (Future<Observation<Optional<String>>> each : all.build()) {
                assertEquals(Observation.seen(Optional.of("v")), each.get());
            }
        }
        assertEquals(List.of("instance/name"), asked);
    }

    @Test
    void whoIsInterruptedKnowsNothing() {
        MetadataFacts interrupted = new MetadataFacts(
                path -> {
                    throw new InterruptedException();
                },
                nanos::get);

        assertInstanceOf(Observation.Unseen.class, interrupted.get(new HostFact(Scope.INSTANCE, "name")));
        assertTrue(Thread.interrupted());
    }

    private void pass(Duration time) {
        nanos.addAndGet(time.toNanos());
    }
}
