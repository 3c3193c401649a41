package io.homeostat.e2e;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import java.util.zip.GZIPOutputStream;

/** Writes a tar.gz as told, sane or not: what a library would refuse to write can be written, too. */
final class TarGz {
    private static final int BLOCK = 512;
    private static final int FILE = '0';
    private static final int HARD_LINK = '1';
    private static final int SYMLINK = '2';
    private static final int CHARACTER_DEVICE = '3';

    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private final GZIPOutputStream tar;

    TarGz() {
        try {
            tar = new GZIPOutputStream(bytes);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** An archive with a shell script as {@code bin/run}. */
    static byte[] ofScript(String script) {
        return new TarGz().file("bin/run", 0755, "#!/bin/sh\n" + script + "\n").bytes();
    }

    /** As {@link #ofScript}, with 2 MB of noise beside it that takes its time. */
    static byte[] ofScriptWithNoise(String script, int seed) {
        byte[] noise = new byte[2_000_000];
        new Random(seed).nextBytes(noise);
        return new TarGz()
                .file("bin/run", 0755, "#!/bin/sh\n" + script + "\n")
                .file("noise", 0644, noise)
                .bytes();
    }

    /** An archive with the same content and other bytes. */
    static byte[] repacked(byte[] archive, int number) {
        // The time in the header (RFC 1952), which nobody looks at.
        byte[] repacked = archive.clone();
        repacked[4] = (byte) number;
        return repacked;
    }

    TarGz file(String name, int mode, String content) {
        return entry(name, mode, FILE, "", content.getBytes(StandardCharsets.UTF_8));
    }

    TarGz file(String name, int mode, byte[] content) {
        return entry(name, mode, FILE, "", content);
    }

    TarGz symlink(String name, String target) {
        return entry(name, 0777, SYMLINK, target, new byte[0]);
    }

    TarGz hardLink(String name, String target) {
        return entry(name, 0644, HARD_LINK, target, new byte[0]);
    }

    TarGz device(String name) {
        return entry(name, 0644, CHARACTER_DEVICE, "", new byte[0]);
    }

    byte[] bytes() {
        write(new byte[2 * BLOCK]);
        try {
            tar.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }

    private void write(byte[] block) {
        try {
            tar.write(block);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** https://pubs.opengroup.org/onlinepubs/9799919799/utilities/pax.html, "ustar Interchange Format". */
    private TarGz entry(String name, int mode, int type, String target, byte[] content) {
        byte[] header = new byte[BLOCK];
        put(header, 0, name);
        put(header, 100, String.format("%07o", mode));
        put(header, 108, "0000000");
        put(header, 116, "0000000");
        put(header, 124, String.format("%011o", content.length));
        put(header, 136, "00000000000");
        put(header, 148, "        ");
        header[156] = (byte) type;
        put(header, 157, target);
        put(header, 257, "ustar\00000");
        int sum = 0;
        for (byte value : header) {
            sum += value & 0xff;
        }
        put(header, 148, String.format("%06o\0 ", sum));
        write(header);
        write(content);
        write(new byte[Math.floorMod(-content.length, BLOCK)]);
        return this;
    }

    private static void put(byte[] header, int at, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        System.arraycopy(bytes, 0, header, at, bytes.length);
    }
}
