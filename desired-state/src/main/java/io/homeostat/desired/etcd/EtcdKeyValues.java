package io.homeostat.desired.etcd;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.collect.Iterables;
import com.google.common.primitives.UnsignedBytes;
import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.ClientBuilder;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.Watch;
import io.etcd.jetcd.api.AuthenticateResponse;
import io.etcd.jetcd.common.exception.CompactedException;
import io.etcd.jetcd.common.exception.ErrorCode;
import io.etcd.jetcd.common.exception.EtcdException;
import io.etcd.jetcd.common.exception.EtcdExceptionFactory;
import io.etcd.jetcd.kv.GetResponse;
import io.etcd.jetcd.kv.TxnResponse;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.CmpTarget;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.DeleteOption;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.options.PutOption;
import io.etcd.jetcd.options.WatchOption;
import io.etcd.jetcd.watch.WatchEvent;
import io.etcd.jetcd.watch.WatchResponse;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.ForwardingClientCallListener.SimpleForwardingClientCallListener;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.homeostat.desired.model.AgentConfig.Etcd;
import io.homeostat.desired.model.AgentConfig.Login;
import io.homeostat.desired.model.AgentConfig.Tls;
import io.homeostat.desired.platform.ClientTls;
import io.homeostat.desired.platform.GrpcTransport;
import io.homeostat.desired.platform.SentSecrets;
import io.netty.channel.ChannelOption;
import io.netty.handler.ssl.SslContext;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A cluster of etcd, over its version 3 protocol. It connects when it is asked the first time, and anew after it was not let in: passwords
 * and certificates are replaced while agents run.
 */
public final class EtcdKeyValues implements KeyValues {
    private static final String SETTING = "sources.etcd";

    /** An election of a member takes one to two seconds. */
    private static final Duration ANSWER = Duration.ofSeconds(10);

    private static final Duration CONNECTING = Duration.ofSeconds(5);

    /** A connection that nothing comes through is found out after these two. */
    private static final Duration KEEPALIVE = Duration.ofSeconds(10);

    private static final Duration KEEPALIVE_ANSWER = Duration.ofSeconds(5);

    /** The most keys of a page. Reports have a few kilobytes each; of longer ones fewer are asked for. */
    private static final int PAGE = 250;

    /** Bytes of a message. While it is read there are three copies of it: 16 MiB in an agent. */
    private static final int MOST_BYTES =
            (int) Math.min(16 << 20, Runtime.getRuntime().maxMemory() / 16);

    private final Etcd config;
    private final long mostListed;
    private final GrpcTransport transport = new GrpcTransport();

    /** Passwords and tokens. */
    private final SentSecrets sent = new SentSecrets();

    private @Nullable ManagedChannel channel;
    private @Nullable Client client;
    private ImmutableList<FileTime> certificates = ImmutableList.of();
    private boolean closed;

    public EtcdKeyValues(Etcd config) {
        this(config, Runtime.getRuntime().maxMemory() / 4);
    }

    /** @param mostListed bytes that any listing may take, about */
    EtcdKeyValues(Etcd config, long mostListed) {
        this.config = config;
        this.mostListed = mostListed;
    }

    @Override
    public Optional<Entry> get(String key, long revision) throws KeyValuesException, InterruptedException {
        GetOption asOf = GetOption.builder().withRevision(revision).build();
        GetResponse answer = ask(
                "could not read " + key, connected -> connected.getKVClient().get(bytes(key), asOf));
        Optional<Entry> found =
                answer.getKvs().stream().map(EtcdKeyValues::entry).findFirst();
        if (found.isPresent() && !found.get().key().equals(key)) {
            throw invalid("could not read " + key, "another key");
        }
        return found;
    }

    /** What no etcd answers: without a bound or a check, whoever stands in its place could keep the agent busy for ever. */
    private KeyValuesException invalid(String tried, String what) {
        return new KeyValuesException(
                KeyValuesException.Kind.FAILED,
                tried + where() + ": its answer has " + what + "; is that an etcd?",
                null);
    }

    @Override
    public Listing list(String prefix, long most) throws KeyValuesException, InterruptedException {
        return list(prefix, Math.min(most, mostListed), key -> false);
    }

    @Override
    public Listing list(String prefix, Predicate<String> mayBeLeftOut) throws KeyValuesException, InterruptedException {
        return list(prefix, mostListed, mayBeLeftOut);
    }

    /** Returns the largest entry that may be left out, and is worth it: its key is kept. */
    private static Optional<Entry> largest(Collection<Entry> entries, Predicate<String> mayBeLeftOut) {
        return entries.stream()
                .filter(entry -> entry.value().size() > Entry.OVERHEAD && mayBeLeftOut.test(entry.key()))
                .max(Comparator.comparingLong(Entry::bytes));
    }

    private Listing list(String prefix, long most, Predicate<String> mayBeLeftOut)
            throws KeyValuesException, InterruptedException {
        TreeMap<String, Entry> entries = new TreeMap<>();
        TreeMap<String, Long> leftOut = new TreeMap<>();
        ByteSequence end = endOf(prefix);
        ByteSequence from = bytes(prefix);
        long revision = 0;
        long room = most;
        int size = PAGE;
        byte[] last = {};
        while (true) {
            // It comes in the order of keys. Were it asked to sort, etcd would read all that is left for each page.
            GetOption page = GetOption.builder()
                    .withRange(end)
                    .withLimit(size)
                    .withRevision(revision)
                    .build();
            ByteSequence first = from;
            GetResponse answer;
            try {
                answer = ask(
                        "could not list " + prefix,
                        connected -> connected.getKVClient().get(first, page));
            } catch (KeyValuesException e) {
                if (e.kind() == KeyValuesException.Kind.EXHAUSTED && size > 1) {
                    // So many of them may be too long for a message.
                    size /= 2;
                    continue;
                }
                throw e;
            }
            // The first page says as of when all of them are.
            revision = revision == 0 ? answer.getHeader().getRevision() : revision;
            if (answer.isMore() && answer.getKvs().size() < size) {
                throw invalid(
                        "could not list " + prefix, "fewer keys than were asked for, and says that there are more");
            }
            for (KeyValue found : answer.getKvs()) {
                String key = text(found.getKey());
                byte[] bytes = found.getKey().getBytes();
                if (!key.startsWith(prefix)
                        || UnsignedBytes.lexicographicalComparator().compare(bytes, last) <= 0) {
                    throw invalid("could not list " + prefix, "keys that were not asked for, or not in their order");
                }
                last = bytes;
                Entry entry = entry(found);
                room -= entry.bytes();
                entries.put(key, entry);
            }
            while (room < 0) {
                Entry largest = largest(entries.values(), mayBeLeftOut)
                        .orElseThrow(() -> new KeyValuesException(
                                KeyValuesException.Kind.FAILED,
                                "could not list " + prefix + where() + ": all that begins so takes more than "
                                        + (most >> 20) + " MiB; delete what does not belong there",
                                null));
                entries.remove(largest.key());
                leftOut.put(largest.key(), largest.bytes());
                room += largest.value().size();
            }
            if (!answer.isMore() || answer.getKvs().isEmpty()) {
                return new Listing(revision, ImmutableSortedMap.copyOf(entries), ImmutableSortedMap.copyOf(leftOut));
            }
            from = after(Iterables.getLast(answer.getKvs()).getKey());
        }
    }

    @Override
    public Watching watch(String prefix, long after, Listener listener) {
        Told told = new Told(prefix, listener);
        try {
            Watch.Watcher watcher = connected()
                    .getWatchClient()
                    .watch(
                            bytes(prefix),
                            WatchOption.builder()
                                    .withRange(endOf(prefix))
                                    .withRevision(after + 1)
                                    // Without it a member that is cut off from the others tells nothing, and does not
                                    // say so.
                                    .withRequireLeader(true)
                                    .build(),
                            told);
            return () -> {
                told.end();
                watcher.close();
            };
        } catch (KeyValuesException e) {
            told.failed(e);
            return () -> {};
        }
    }

    @Override
    public OptionalLong commit(ImmutableList<Condition> conditions, ImmutableList<Write> writes)
            throws KeyValuesException, InterruptedException {
        Cmp[] conditionsOfEtcd =
                conditions.stream().map(EtcdKeyValues::condition).toArray(Cmp[]::new);
        Op[] writesOfEtcd = writes.stream().map(EtcdKeyValues::write).toArray(Op[]::new);
        String keys = String.join(", ", Iterables.transform(writes, Write::key));
        TxnResponse answer = ask(
                "could not write " + keys,
                connected -> connected
                        .getKVClient()
                        .txn()
                        .If(conditionsOfEtcd)
                        .Then(writesOfEtcd)
                        .commit());
        if (!answer.isSucceeded() && conditions.isEmpty()) {
            throw invalid("could not write " + keys, "a condition that was not met, where there was none");
        }
        return answer.isSucceeded() ? OptionalLong.of(answer.getHeader().getRevision()) : OptionalLong.empty();
    }

    @Override
    public long grant(Duration timeToLive) throws KeyValuesException, InterruptedException {
        return ask(
                        "could not get a lease",
                        connected -> connected.getLeaseClient().grant(timeToLive.toSeconds()))
                .getID();
    }

    @Override
    public boolean renew(long lease) throws KeyValuesException, InterruptedException {
        try {
            return ask(
                                    "could not renew a lease",
                                    connected -> connected.getLeaseClient().keepAliveOnce(lease))
                            .getTTL()
                    > 0;
        } catch (KeyValuesException e) {
            if (isNotFound(e)) {
                return false;
            }
            throw e;
        }
    }

    @Override
    public void revoke(long lease) throws KeyValuesException, InterruptedException {
        try {
            ask("could not end a lease", connected -> connected.getLeaseClient().revoke(lease));
        } catch (KeyValuesException e) {
            if (!isNotFound(e)) {
                throw e;
            }
        }
    }

    @Override
    public Leadership campaign(String name, long lease, String candidate)
            throws KeyValuesException, InterruptedException {
        // Without a limit: it may be a long time until whoever leads does not any more.
        var leader = answer(
                        "could not campaign for " + name,
                        connected().getElectionClient().campaign(bytes(name), lease, bytes(candidate)),
                        null)
                .getLeader();
        return new Leadership(text(leader.getKey()), leader.getRevision());
    }

    private static Cmp condition(Condition condition) {
        return switch (condition) {
            case Condition.CreatedIn created ->
                new Cmp(bytes(created.key()), Cmp.Op.EQUAL, CmpTarget.createRevision(created.revision()));
            case Condition.ModifiedIn modified ->
                new Cmp(bytes(modified.key()), Cmp.Op.EQUAL, CmpTarget.modRevision(modified.revision()));
        };
    }

    private static Op write(Write write) {
        return switch (write) {
            case Write.Put put ->
                Op.put(
                        bytes(put.key()),
                        ByteSequence.from(put.value()),
                        PutOption.builder().withLeaseId(put.lease()).build());
            case Write.Delete delete -> Op.delete(bytes(delete.key()), DeleteOption.DEFAULT);
        };
    }

    /** Learns a password that a request is about to have. */
    void learn(String password) {
        sent.learn(password);
    }

    <T> T ask(String what, Function<Client, CompletableFuture<T>> question)
            throws KeyValuesException, InterruptedException {
        return answer(what, question.apply(connected()), ANSWER);
    }

    /** @param patience null: without end */
    private <T> T answer(String what, CompletableFuture<T> asked, @Nullable Duration patience)
            throws KeyValuesException, InterruptedException {
        try {
            return patience == null ? asked.get() : asked.get(patience.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            throw failure(what, e.getCause() == null ? e : e.getCause());
        } catch (TimeoutException e) {
            asked.cancel(true);
            disconnectFromOldCertificates();
            throw new KeyValuesException(
                    KeyValuesException.Kind.UNAVAILABLE,
                    what + where() + ": no answer within " + ANSWER.toSeconds() + " s" + check(),
                    e);
        } catch (InterruptedException e) {
            asked.cancel(true);
            throw e;
        }
    }

    private String check() {
        return usesTls()
                ? "; is it running, is this its address, and do its certificate and those of " + SETTING + ".tls fit?"
                : "; is it running, and is this its address?";
    }

    private boolean usesTls() {
        return config.endpoints().stream().anyMatch(endpoint -> endpoint.startsWith("https:"));
    }

    private String where() {
        return " in etcd at " + String.join(", ", config.endpoints());
    }

    private KeyValuesException failure(String what, Throwable error) {
        EtcdException cause = EtcdExceptionFactory.toEtcdException(error);
        ErrorCode code = cause.getErrorCode();
        String why = what + where() + ": " + (cause.getMessage() == null ? code : sent.quoted(cause.getMessage()));
        KeyValuesException.Kind kind = switch (code) {
            case UNAVAILABLE, DEADLINE_EXCEEDED, CANCELLED, ABORTED -> KeyValuesException.Kind.UNAVAILABLE;
            case PERMISSION_DENIED, UNAUTHENTICATED -> KeyValuesException.Kind.DENIED;
            case OUT_OF_RANGE ->
                cause instanceof CompactedException
                        ? KeyValuesException.Kind.COMPACTED
                        : KeyValuesException.Kind.FAILED;
            case RESOURCE_EXHAUSTED -> KeyValuesException.Kind.EXHAUSTED;
            default -> KeyValuesException.Kind.FAILED;
        };
        if (code == ErrorCode.UNAUTHENTICATED || (code == ErrorCode.INVALID_ARGUMENT && config.login() != null)) {
            // Its password may have been changed. Nothing else is a reason to end what others watch.
            disconnect();
        }
        if (kind == KeyValuesException.Kind.UNAVAILABLE) {
            disconnectFromOldCertificates();
        }
        String remedy = switch (kind) {
            case UNAVAILABLE -> check();
            case DENIED -> "; look at " + SETTING + ".login, and at what its user may do";
            case EXHAUSTED ->
                "; if it is full, compact and defragment it or enlarge its --quota-backend-bytes,"
                        + " and then disarm its alarm (etcdctl alarm disarm)";
            case COMPACTED, FAILED -> "";
        };
        return new KeyValuesException(kind, why + remedy, cause);
    }

    static boolean isNotFound(KeyValuesException e) {
        return e.getCause() instanceof EtcdException known && known.getErrorCode() == ErrorCode.NOT_FOUND;
    }

    private synchronized Client connected() throws KeyValuesException {
        if (closed) {
            throw new KeyValuesException(KeyValuesException.Kind.UNAVAILABLE, "the connection is closed", null);
        }
        Client connected = client;
        if (connected == null) {
            try {
                certificates = certificates();
                connected = connect();
            } catch (IOException e) {
                throw new KeyValuesException(KeyValuesException.Kind.FAILED, String.valueOf(e.getMessage()), e);
            }
            client = connected;
        }
        return connected;
    }

    private Client connect() throws IOException {
        ClientBuilder builder = Client.builder()
                .endpoints(config.endpoints().stream().map(URI::create).toArray(URI[]::new))
                .retryMaxDuration(ANSWER);
        Login login = config.login();
        if (login != null) {
            String password = password(login);
            sent.learn(password);
            builder.user(bytes(login.user())).password(bytes(password));
        }
        SslContext tls = usesTls() ? ClientTls.grpc(config.tls(), SETTING + ".tls") : null;
        ManagedChannel opened = transport
                .resolved(builder.target(), tls)
                .withOption(ChannelOption.CONNECT_TIMEOUT_MILLIS, (int) CONNECTING.toMillis())
                .keepAliveTime(KEEPALIVE.toMillis(), TimeUnit.MILLISECONDS)
                .keepAliveTimeout(KEEPALIVE_ANSWER.toMillis(), TimeUnit.MILLISECONDS)
                .keepAliveWithoutCalls(true)
                .maxInboundMessageSize(MOST_BYTES)
                .build();
        channel = opened;
        return builder.interceptor(new Diversion(opened, sent)).build();
    }

    /**
     * Has jetcd use our channel: its own, which never connects, would have threads that outlive it, and no {@code FloodGuard}.
     *
     * @param sent learns the tokens that jetcd gets for the password
     */
    private record Diversion(Channel to, SentSecrets sent) implements ClientInterceptor {
        @Override
        public <Q, A> ClientCall<Q, A> interceptCall(MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
            return new SimpleForwardingClientCall<>(to.newCall(method, options)) {
                @Override
                public void start(ClientCall.Listener<A> listener, Metadata headers) {
                    super.start(
                            new SimpleForwardingClientCallListener<>(listener) {
                                @Override
                                public void onMessage(A message) {
                                    if (message instanceof AuthenticateResponse login) {
                                        sent.learnToken(login.getToken());
                                    }
                                    super.onMessage(message);
                                }
                            },
                            headers);
                }
            };
        }
    }

    private static String password(Login login) throws IOException {
        try {
            return Files.readString(Path.of(login.passwordFile())).stripTrailing();
        } catch (IOException e) {
            throw new IOException("could not read " + login.passwordFile() + " (" + SETTING
                    + ".login.passwordFile); it has to be there and readable for the agent");
        }
    }

    /** When the files of certificates were written. */
    private ImmutableList<FileTime> certificates() throws IOException {
        Tls tls = config.tls();
        ImmutableList.Builder<FileTime> times = ImmutableList.builder();
        if (tls != null) {
            for (String file : Stream.of(tls.ca(), tls.certificate(), tls.key())
                    .filter(Objects::nonNull)
                    .toList()) {
                Path path = Path.of(file);
                // Of one that is not there the client says so.
                times.add(Files.exists(path) ? Files.getLastModifiedTime(path) : FileTime.fromMillis(0));
            }
        }
        return times.build();
    }

    /** A refused or expired certificate looks like a server that does not answer. */
    private synchronized void disconnectFromOldCertificates() {
        try {
            if (!certificates().equals(certificates)) {
                disconnect();
            }
        } catch (IOException e) {
            // They are being replaced; the next failure looks again.
        }
    }

    private synchronized void disconnect() {
        if (client != null) {
            client.close();
            client = null;
        }
        if (channel != null) {
            channel.shutdownNow();
            channel = null;
        }
    }

    @Override
    public void close() {
        synchronized (this) {
            closed = true;
        }
        disconnect();
        transport.close();
    }

    private static Entry entry(KeyValue found) {
        return new Entry(
                text(found.getKey()),
                // A copy already.
                UnsafeByteOperations.unsafeWrap(found.getValue().getBytes()),
                found.getCreateRevision(),
                found.getModRevision());
    }

    static ByteSequence bytes(String text) {
        return ByteSequence.from(text, UTF_8);
    }

    static String text(ByteSequence bytes) {
        return bytes.toString(UTF_8);
    }

    /** The first key that does not begin so; prefixes end with a character that is not the last one. */
    static ByteSequence endOf(String prefix) {
        byte[] end = prefix.getBytes(UTF_8);
        end[end.length - 1]++;
        return ByteSequence.from(end);
    }

    private static ByteSequence after(ByteSequence key) {
        return key.concat(ByteString.copyFrom(new byte[1]));
    }

    /** Hands on what etcd says, until it has failed or nobody wants to hear it. */
    private final class Told implements Watch.Listener {
        private final String prefix;
        private final Listener listener;
        private boolean over;

        Told(String prefix, Listener listener) {
            this.prefix = prefix;
            this.listener = listener;
        }

        @Override
        public synchronized void onNext(WatchResponse response) {
            if (over || response.getEvents().isEmpty()) {
                return;
            }
            Map<String, Entry> put = new LinkedHashMap<>();
            Set<String> deleted = new LinkedHashSet<>();
            for (WatchEvent event : response.getEvents()) {
                String key = text(event.getKeyValue().getKey());
                if (event.getEventType() == WatchEvent.EventType.DELETE) {
                    put.remove(key);
                    deleted.add(key);
                } else {
                    deleted.remove(key);
                    // In the order of its last changes.
                    put.remove(key);
                    put.put(key, entry(event.getKeyValue()));
                }
            }
            listener.changed(
                    ImmutableList.copyOf(put.values()),
                    ImmutableList.copyOf(deleted),
                    // The header has the store's own, of which a watcher that is behind has not heard yet.
                    response.getEvents().getLast().getKeyValue().getModRevision());
        }

        @Override
        public void onError(Throwable error) {
            failed(failure("could not watch " + prefix, error));
        }

        @Override
        public void onCompleted() {
            failed(new KeyValuesException(
                    KeyValuesException.Kind.UNAVAILABLE, "the watch of " + prefix + where() + " has ended", null));
        }

        void failed(KeyValuesException failure) {
            if (end()) {
                listener.ended(failure);
            }
        }

        /** Whether it had not ended before. */
        synchronized boolean end() {
            boolean first = !over;
            over = true;
            return first;
        }
    }
}
