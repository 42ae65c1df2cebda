package s3

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/minio/minio-go/v7"

	"github.com/tiercompact/tiercompact/archive"
)

// A failure describes an error in its own words, and unwraps to it.
type failure struct {
	text string
	err  error
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.err }

func errorCode(err error) string { return minio.ToErrorResponse(err).Code }

// requestError returns the meaning of a request's error, and the remedy.
func (b *bucket) requestError(ctx context.Context, verb, key string, err error) error {
	_, address := b.Where(key)
	r := minio.ToErrorResponse(err)
	if r.Code == minio.NoSuchKey {
		return &failure{verb + " " + address + ": not found", archive.ErrNotFound}
	}
	if errors.Is(err, context.Canceled) || errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("%s %s: %w", verb, address, context.Canceled)
	}
	text := b.cleanText(serverMessage(r, err))
	if remedy := remedyFor(r, err); remedy != "" {
		text += "; " + remedy
	}
	return &failure{verb + " " + address + ": " + text, err}
}

// serverMessage returns the server's message, or why there is none.
func serverMessage(r minio.ErrorResponse, err error) string {
	if r.Code != "" {
		return strings.TrimSpace(r.Code + ": " + strings.TrimSuffix(r.Message, "."))
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // without the address, which requestError adds
	}
	return err.Error()
}

const maxMessageBytes = 300 // bytes of a server's error message

// cleanText returns text on one line without secrets.
func (b *bucket) cleanText(text string) string {
	for _, secret := range b.secrets() {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "<REDACTED>")
		}
	}
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
	if len(text) > maxMessageBytes {
		text = strings.ToValidUTF8(text[:maxMessageBytes], "") + " ..."
	}
	return text
}

// remedyFor returns the remedy for an error, "" if it is unknown.
func remedyFor(r minio.ErrorResponse, err error) string {
	switch r.Code {
	case minio.NoSuchBucket:
		return "make the bucket, or correct its name"
	case minio.AccessDenied, "AllAccessDisabled", "AccountProblem":
		return "let the credentials do s3:GetObject, s3:PutObject and s3:ListBucket there, s3:DeleteObject to prune, and with a key kms:GenerateDataKey and kms:Decrypt"
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "InvalidClientTokenId", "UnrecognizedClientException", "XAdminUserNotFound":
		return "the credentials are wrong or have expired; renew them, and look at AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN and AWS_PROFILE"
	case "RequestTimeTooSkewed", "RequestExpired", "RequestNotYetValid":
		return "the clock of this machine differs from the server's by more than 15 minutes; set it"
	case "AuthorizationHeaderMalformed", "PermanentRedirect", "Redirect", minio.InvalidRegion, "IllegalLocationConstraintException":
		if r.Region != "" {
			return "the bucket is in region " + r.Region + "; set that region"
		}
		return "the bucket is in another region; set its region"
	case "NotImplemented":
		return "this server lacks what an archive needs, such as conditional writes (If-None-Match)"
	case "SlowDown", "ServiceUnavailable", "InternalError", "RequestTimeout":
		return "the server is not well or busy; try again later"
	}
	if strings.HasPrefix(r.Code, "KMS.") {
		return "look at the key, its region and its state"
	}
	return remedyForTransport(r, err)
}

func remedyForTransport(r minio.ErrorResponse, err error) string {
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, dns := errors.AsType[*net.DNSError](err)
	_, op := errors.AsType[*net.OpError](err)
	switch {
	case certificate:
		return "the server's certificate is not trusted here; install its authority, or correct the endpoint"
	case dns || op || r.Code == "":
		return "the server cannot be reached; check the endpoint and the network"
	}
	return ""
}
